# A number for a text: `make -f components.mk`.
text.txt: components.txt
	echo "The graph has $$(cat $<) components." > $@

components.txt: parts.csv
	tail -n +2 $< | cut -d , -f 2 | sort -u | wc -l > $@

parts.csv: components.yaml edges.txt
	gravel run -q $<
