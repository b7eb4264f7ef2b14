"""Drills: what a cache goes through on a real machine, many times over, by the command line.

Each command of a drill ends in one of two ways, the right answer or a clear refusal: never in a traceback, a
wrong answer, a wait of more than 10 s without progress, or the loss of something published. All go through
the command line and the files that it leaves, so that they outlive a change of the code behind it. The big
ones are marked slow. Their numbers of tries are options, and the default is the full number:

    pytest -m slow -s tests/drills                                    all of them
    pytest -m slow -s tests/drills --tries kills=22 --tries fuzz=500  fewer of some
    pytest -m slow -s tests/drills --drill-seed 2                     other choices
    pytest -m slow -s -n 2 tests/drills/test_many_damages.py          on two cores

With `-s` a drill says every minute how far it is, shows each kind of failure when it first meets it, and in
the end counts what it did and which refusals it got. Times are of an idle machine with two cores, about:

drill      file                    what one try is                                       tries   100 take
kills      test_killed.py          kill -9 of a run, inline or with workers, then         220     15 min
                                   `cache verify`, the run again, its export compared
damage     test_many_damages.py    a piece of damage: bytes, files, exchanged pieces,     15,000  10 s
                                   artifacts and records, links, folders, memos,
                                   permissions (750 of them more); twenty to a case, each
                                   case used in one of several ways, run, exported
pieces     test_exchanged.py       pieces of arrays exchanged, within arrays and between     300     2 min
                                   artifacts of a graph of many pieces
fuzz       test_fuzzed.py          a graph file of any format, workflow, record of a      10,000  15 s
                                   run or result, schedule, remote store, HTTP answer
at_once    test_at_once.py         a run, 24 of them at once, `cache gc` in a loop        240     4 min
disk_full  test_full_disk.py       a run on a disk that is full from one of its changes   50      8 min
                                   on (ENOSPC, EDQUOT, EFBIG), on a file system of a few
                                   kB, under `ulimit -f`; then the run with space
clock      test_clock.py           five commands at times that are seconds to years off   40      4 min

Full disks and clocks of whole processes take a C compiler, small file systems take root. What is missing is
skipped and said. GRAVEL_TINY_GRAPHS names a folder of more files for the fuzzed ones.

The other files drill one thing each: test_damaged.py says which messages damage leads to, test_edits.py what
an edit makes run again, test_schedules.py services and clocks, test_store_cut.py a line to an object store
that is cut, test_two_runs.py that two runs share the work. Programs: searches.py holds weighted searches
against an own Dijkstra, with threads and interrupts mixed in (test_searches.py makes some hundred of them),
reading.py drawn lists of edges against pandas (test_reading.py). sanitizers.py runs families.py and
layout_readers.py.
"""
