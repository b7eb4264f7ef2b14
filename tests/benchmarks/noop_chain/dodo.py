"""The chain for doit."""


def task_step():
    for step in range(1, 9):
        source, target = f"s{step - 1}.txt", f"s{step}.txt"
        yield {
            "name": str(step),
            "actions": [f"cp {source} {target}"],
            "file_dep": [source],
            "targets": [target],
        }
