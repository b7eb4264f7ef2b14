# The same with igraph, not verified: `make -f components_igraph.mk`.
text.txt: components.txt
	echo "The graph has $$(cat $<) components." > $@

components.txt: components_igraph.py edges.txt
	python $^ > $@
