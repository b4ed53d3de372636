"""Guide: a voice swap to listen to, and features of speech without the speaker.

    python examples/guides/speech.py OUT [steps]

LibriSpeech (open, CC BY 4.0): 20 frames of log-mel features a sequence. Writes WAV files into OUT.
"""

import sys
from pathlib import Path

import numpy as np
import torch
from scipy.io import wavfile
from sklearn.linear_model import LogisticRegression

import unbraid
from unbraid.data.audio.mel import MelConfig, log_mel, wave_from_mel

out = Path(sys.argv[1] if len(sys.argv) > 1 else "voices")
steps = int(sys.argv[2]) if len(sys.argv) > 2 else 2000
settings = {"training": {"steps": steps, "checkpoint_every": 500}}
run = unbraid.fit("librispeech", settings=settings, out=out / "runs", device="cpu")
model, test = run.model(), run.corpus().test

# 1. The words of b in the voice of a: four seconds, the segments of a recording in a row.
speaker, utterance = test.label("speaker"), test.label("utterance")
first = np.flatnonzero(utterance == utterance[0])[:20]
second = utterance[np.flatnonzero(speaker != speaker[0])[0]]
a, b = test.take(first), test.take(np.flatnonzero(utterance == second)[:20])
with torch.inference_mode():
    z_a, z_b = model.encode(a), model.encode(b)
    voice = z_a.s.mean(0, keepdim=True)
    ab = model.decode(unbraid.Codes(voice.expand(len(b), -1), z_b.d))
    copy = model.decode(z_b)  # what the model makes of b as it is
mean = {}
for name, x in (("a", a.x), ("b", b.x), ("b-decoded", copy), ("a-saying-b", ab)):
    mel = test.spec.to_data(x.float()).flatten(0, 1)  # (steps of all segments, bands)
    wave = wave_from_mel(mel, MelConfig())
    wave = wave * min(0.05 / float(wave.square().mean().sqrt()), 0.99 / float(wave.abs().max()))
    samples = (32767 * wave.numpy()).astype(np.int16)
    wavfile.write(out / f"{name}.wav", MelConfig().sample_rate, samples)
    mean[name] = log_mel(wave[None], MelConfig())[0].mean(0)
    mean[name] = mean[name] - mean[name].mean()  # the voice, not how loud it is
    loudness = 20 * np.log10(float(wave.square().mean().sqrt()))
    print(
        f"{name}.wav: {len(wave) / MelConfig().sample_rate:.2f} s, {loudness:.1f} dBFS, largest "
        f"sample {np.abs(samples.astype(int)).max()} of 32767"
    )

# 2. Whose mean spectrum does a sound have? Root mean square over the bands, in dB of power.
for name in ("b-decoded", "a-saying-b"):
    to = {who: 4.343 * float((mean[name] - mean[who]).square().mean().sqrt()) for who in "ab"}
    print(f"{name}: {to['a']:.1f} dB from a, {to['b']:.1f} dB from b")

# 3. How much of the speaker is in each code: half of the sequences to learn, half to test.
codes = unbraid.embed(model, test)
features = {"s": codes.s, "d": codes.d.mean(1), "x": test.take(slice(None)).x.mean(1).numpy()}
half = np.arange(len(speaker)) % 2 == 0
for name, z in features.items():
    z = (z - z[half].mean(0)) / (z[half].std(0) + 1e-6)
    score = (
        LogisticRegression(max_iter=300).fit(z[half], speaker[half]).score(z[~half], speaker[~half])
    )
    print(f"speaker from mean of {name}: {score:.0%} of {len(np.unique(speaker))} speakers")
