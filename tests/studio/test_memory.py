import gc
import itertools

import pytest


@pytest.mark.slow
def test_a_thousand_swaps_leave_no_objects_behind(client, keys):
    items = [item["id"] for item in client.get(f"/api/runs/{keys['video']}").json()["items"]]
    client.get(f"/api/runs/{keys['video']}/map")  # all codes are there
    pairs = itertools.cycle(itertools.product(items, items))

    def swap(count):
        for s, d in itertools.islice(pairs, count):
            path = f"/api/runs/{keys['video']}/sequence.png?s={s}&d={d}"
            assert client.get(path).status_code == 200
        gc.collect()
        return len(gc.get_objects())

    before = swap(100)
    assert swap(1000) < before + 500
