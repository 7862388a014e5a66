"""How an app backend uses Taquin: python examples/backend.py, with a worker running."""

from taquin import Client

with Client() as client:  # TAQUIN_REDIS_URL says where Redis is; one client serves all threads of a process
    answer = client.repair([[1, 2, 3, 4], [5, 6, 7, 8], [9, 10, 11, 12], [13, 15, 14, 0]])
    print(answer.status, answer.swap.tiles if answer.swap else "")
    print(answer.evidence.sentence if answer.evidence else answer.problems)
    print(answer.board)

    # Nobody has to wait: send now, ask for the answer later, from this process or from another.
    handle = client.send_validate("5 1 3 4/2 6 7 8/9 10 11 12/13 14 15 _")
    print(client.answer(handle.id).status)

    # By the million, as one job.
    job = client.generate("4x4", 10_000, band="hard", seed=7, to_pool=True)
    print(job.wait(timeout=60).pooled, "boards are ready to be handed out")
    ready = client.claim("4x4", band="hard", lease=60)
    if ready is not None:
        print(ready.board)
        client.confirm(ready)
