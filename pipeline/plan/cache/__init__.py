"""Frozen plans: what a run or a plan that found everything cached was made from, and what it found.

The same command, asked again, answers from it without planning anew, if all that planning looked at is as it
was and every result is there. It is a memo like the digests of files: never needed, safe to delete.

- `witness` notes what planning looks at: texts, files, memos; or a doubt, and then nothing is frozen.
- `surroundings` is all else that an answer hangs on: the request, code, packages, interpreter, machine.
- `keeping` writes and reads frozen plans, and compares.
- `finding` looks up every result as the planner and the driver do.
- `running` and `planning` answer `gravel run` and `gravel plan`.

Whatever does not fit, or cannot be told, has the command planned in full.
"""
