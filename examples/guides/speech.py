"""Guide: a voice swap to listen to, and features of speech without the speaker.

    python examples/guides/speech.py OUT [steps]

LibriSpeech (open, CC BY 4.0): 20 frames of log-mel features a sequence. Writes WAV files into OUT.
"""

import sys
from pathlib import Path

import numpy as np
from scipy.io import wavfile
from sklearn.linear_model import LogisticRegression

import unbraid
from unbraid.data.audio.mel import MelConfig, wave_from_mel

out = Path(sys.argv[1] if len(sys.argv) > 1 else "voices")
steps = int(sys.argv[2]) if len(sys.argv) > 2 else 2000
settings = {"training": {"steps": steps, "checkpoint_every": 500}}
run = unbraid.fit("librispeech", settings=settings, out=out / "runs", device="cpu")
model, test = run.model(), run.corpus().test

# 1. The words of b in the voice of a.
speaker = test.label("speaker")
first = 0
other = int(np.flatnonzero(speaker != speaker[first])[7])
a, b = test.take([first]), test.take([other])
ab, _ = unbraid.swap(model, a, b)
for name, x in (("a", a.x), ("b", b.x), ("a-saying-b", ab)):
    wave = wave_from_mel(test.spec.to_data(x.float())[0], MelConfig())
    wave = (wave / wave.abs().max().clamp(min=1e-6)).numpy()
    wavfile.write(out / f"{name}.wav", MelConfig().sample_rate, (32767 * wave).astype(np.int16))
    print(f"{name}.wav: {len(wave) / MelConfig().sample_rate:.2f} s")

# 2. How much of the speaker is in each code: half of the sequences to learn, half to test.
codes = unbraid.embed(model, test)
features = {"s": codes.s, "d": codes.d.mean(1), "x": test.take(slice(None)).x.mean(1).numpy()}
half = np.arange(len(speaker)) % 2 == 0
for name, z in features.items():
    z = (z - z[half].mean(0)) / (z[half].std(0) + 1e-6)
    score = (
        LogisticRegression(max_iter=300).fit(z[half], speaker[half]).score(z[~half], speaker[~half])
    )
    print(f"speaker from mean of {name}: {score:.0%} of {len(np.unique(speaker))} speakers")
