# The ten accounts of the highest PageRank; the run fails if the ranks are wrong.
gravel run -q pagerank.yaml
tail -n +2 ranks.csv | sort -t , -k 2gr | head
