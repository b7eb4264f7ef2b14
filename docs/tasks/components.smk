# The same with Snakemake and igraph: `snakemake --cores 2 --snakefile components.smk`.
rule text:
    input: "components.txt"
    output: "text.txt"
    shell: 'echo "The graph has $(cat {input}) components." > {output}'

rule components:
    input: "components_igraph.py", "edges.txt"
    output: "components.txt"
    shell: "python {input} > {output}"
