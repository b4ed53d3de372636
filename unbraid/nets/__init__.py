"""x -> features and codes -> x. A method asks here for parts and never learns the modality."""

from dataclasses import dataclass

from unbraid.nets.audio import AudioDecoder, AudioEncoder
from unbraid.nets.frames import FrameDecoder, FrameEncoder, fitting_shrink
from unbraid.nets.parts import Decoder, Encoder
from unbraid.nets.series import SeriesDecoder, SeriesEncoder
from unbraid.records import Spec

__all__ = [
    "Decoder",
    "Encoder",
    "NetConfig",
    "decoder_for",
    "encoder_for",
]


@dataclass(frozen=True, slots=True, kw_only=True)
class NetConfig:
    """Sizes of the networks; a modality reads its own fields and `hidden`."""

    channels: tuple[int, ...] = (64, 128, 256, 512)  # video: convolutions, outermost first
    features: int = 128  # video: size of a frame's feature vector
    # video: the encoder looks at frames averaged over squares of this many pixels; 0 = 2 of large
    # frames (those of 64 and more with four convolutions), else 1
    shrink: int = 1
    audio_hidden: int = 256  # audio: the decoder's inner layer
    series_layers: tuple[int, ...] = (32, 64, 32)  # series: linear layers of both nets
    tells_gaps: bool = False  # series with missing values: which are observed is decoded, too
    shared_scale: bool = False  # series: one scale a channel is learned, in place of one a value
    # every recurrent net of posterior and prior; those of skd have the codes' size
    hidden: int = 256
    prior_layers: int = 1  # LSTM layers of p(d_t | d_<t)

    def __post_init__(self) -> None:
        sizes = (*self.channels, *self.series_layers)
        sizes = (*sizes, self.features, self.audio_hidden, self.hidden, self.prior_layers)
        sizes = (*sizes, self.shrink + 1)
        if min(sizes) < 1 or not self.channels or not self.series_layers:
            raise ValueError("net sizes must all be 1 or more.")
        if self.series_layers[0] != self.series_layers[-1]:
            raise ValueError(
                f"series_layers must end as it starts, e.g. [32, 64, 32], got "
                f"{list(self.series_layers)}."
            )


def encoder_for(spec: Spec, net: NetConfig) -> Encoder:
    """Return the network Batch -> features; its `features` attribute is their size."""
    if spec.kind == "video":
        shrink = net.shrink or fitting_shrink(spec.frame, len(net.channels))
        return FrameEncoder(spec.frame, net.channels, net.features, shrink=shrink)
    if spec.kind == "audio":
        return AudioEncoder(spec.frame[0])
    return SeriesEncoder(spec, net.series_layers)


def decoder_for(spec: Spec, net: NetConfig, code: int) -> Decoder:
    """Return the network Codes -> Prediction; `code` is the size of s and d_t joined.

    With a mask it decodes the steps in it alone, one row each.
    """
    if spec.kind == "video":
        return FrameDecoder(spec.frame, net.channels, code)
    if spec.kind == "audio":
        return AudioDecoder(spec.frame[0], code, net.audio_hidden)
    return SeriesDecoder(
        spec, code, net.series_layers, tells_gaps=net.tells_gaps, shared_scale=net.shared_scale
    )
