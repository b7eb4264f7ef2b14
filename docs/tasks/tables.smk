# The same with Snakemake and igraph: `snakemake --cores 2 --snakefile tables.smk`.
FILES = glob_wildcards("graphs/{file}.txt").file

rule all:
    input: expand("out/{file}.parts.parquet", file=FILES)

rule table:
    input: "tables_igraph.py", graph="graphs/{file}.txt"
    output: "out/{file}.parts.parquet"
    shell: "python tables_igraph.py {input.graph}"
