"""Using runs on sound and on series: unequal lengths, missing values, files people can open."""

import shutil
from pathlib import Path

import numpy as np
import pytest
import soundfile

from tests.workflows.conftest import NET
from unbraid.settings import parse_sets
from unbraid.training.fit import fit
from unbraid.workflows.export import encode, use


def test_a_swap_of_voices_can_be_heard(voices: Path, tmp_path: Path):
    use.swap(voices, use.Source(count=1), tmp_path)
    sounds = sorted(tmp_path.glob("swap-*.wav"))
    assert [path.stem.split("-", 2)[2] for path in sounds] == ["a", "b", "a-doing-b", "b-doing-a"]
    wave, rate = soundfile.read(sounds[0])
    assert rate == 16_000
    assert len(wave) == 19 * 160  # 20 frames of 10 ms, hop 160
    assert 0 < np.abs(wave).max() <= 1
    assert (tmp_path / "swap.png").is_file()


def test_arrays_come_back_in_the_units_of_the_data(voices: Path, tmp_path: Path):
    job = use.open_source(voices, use.Source())
    use.reconstruct(voices, use.Source(index=(0, 1)), tmp_path)
    with np.load(tmp_path / "reconstruct.npz") as file:
        np.testing.assert_allclose(file["x"], job.split.x[job.split.rows[:2]], atol=1e-4)


def test_what_is_missing_in_a_series_is_missing_in_the_arrays(series: Path, tmp_path: Path):
    job = use.open_source(series, use.Source())
    use.reconstruct(series, use.Source(index=(0, 1)), tmp_path)
    batch = job.split.take([0, 1])
    with np.load(tmp_path / "reconstruct.npz") as file:
        assert np.array_equal(np.isnan(file["x"]), ~batch.observed.numpy())
        assert np.isfinite(file["x_hat"]).all()


@pytest.mark.parametrize("job", [use.swap, use.sample, use.interpolate, use.reconstruct])
def test_every_job_draws_series_of_unequal_length(series: Path, tmp_path: Path, job):
    job(series, use.Source(count=2), tmp_path)
    assert list(tmp_path.glob("*.png"))


def test_own_series_may_hold_nan(series: Path, tmp_path: Path):
    x = np.random.default_rng(0).normal(size=(4, 20, 4, 6)).astype(np.float32)
    x[0, 3, 1] = np.nan
    np.savez(tmp_path / "mine.npz", x=x)
    encode(series, use.Source(file=str(tmp_path / "mine.npz")), tmp_path / "codes.npz")
    with np.load(tmp_path / "codes.npz") as file:
        assert file["s"].shape == (4, 4)
        assert np.isfinite(file["d"]).all()


def test_drawing_one_factor_keeps_the_other(series: Path, tmp_path: Path):
    """With s kept, the same seed gives the same dynamics whoever is asked."""
    for name, index in (("a", (0,)), ("b", (1,))):
        source = use.Source(index=index)
        use.sample(series, source, tmp_path / name, factor="dynamic", length=5)
    with (
        np.load(tmp_path / "a" / "sample-dynamic.npz") as a,
        np.load(tmp_path / "b" / "sample-dynamic.npz") as b,
    ):
        assert a["x"].shape == (1, 5, 4, 6)
        assert not np.allclose(a["x"], b["x"])  # another s shows


def test_a_run_encodes_new_sounds_when_its_training_folder_is_gone(tmp_path: Path, monkeypatch):
    monkeypatch.setenv("UNBRAID_CACHE", str(tmp_path / "cache"))
    noise = np.random.default_rng(0)
    for name in ("a/1.wav", "a/2.wav", "b/3.wav", "b/4.wav", "c/5.wav", "new.flac"):
        path = tmp_path / "recordings" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        soundfile.write(path, 0.1 * noise.normal(size=16_000), 16_000)
    new = (tmp_path / "recordings" / "new.flac").rename(tmp_path / "new.flac")
    sets = parse_sets([*NET, "data.seconds=0.1", "data.bands=12", "data.conversions=0"])
    run = fit(str(tmp_path / "recordings"), "dsvae", settings=sets, out=tmp_path / "runs")
    shutil.rmtree(tmp_path / "recordings")
    encode(run.path, use.Source(file=str(new)), tmp_path / "codes.npz")
    with np.load(tmp_path / "codes.npz") as file:
        assert file["d"].shape == (10, 10, 4)  # 1 s in segments of ten frames of 10 ms
