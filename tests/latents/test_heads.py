import pytest
import torch
from torch import nn

from unbraid.latents.recurrent import GaussianHead, run_recurrent

LENGTHS = (5, 3, 1, 4)
MASK = torch.arange(5) < torch.tensor(LENGTHS)[:, None]
NETS = {
    "lstm": lambda: nn.LSTM(3, 4, batch_first=True),
    "both ways": lambda: nn.LSTM(3, 4, batch_first=True, bidirectional=True),
    "two layers both ways": lambda: nn.LSTM(3, 4, 2, batch_first=True, bidirectional=True),
    "rnn": lambda: nn.RNN(3, 4, batch_first=True),
}


@pytest.mark.parametrize("name", NETS)
def test_a_padded_batch_gives_what_each_sequence_gives_alone(name: str):
    rnn, h = NETS[name](), torch.randn(4, 5, 3)
    out, last = run_recurrent(rnn, h, MASK)
    for i, length in enumerate(LENGTHS):
        alone, state = rnn(h[i : i + 1, :length])
        state = state[0] if isinstance(state, tuple) else state
        ends = state[-2:] if rnn.bidirectional else state[-1:]
        torch.testing.assert_close(out[i, :length], alone[0])
        torch.testing.assert_close(last[i], ends[:, 0].flatten())
        assert (out[i, length:] == 0).all()


def test_the_last_state_is_the_end_of_each_direction():
    rnn, h = NETS["both ways"](), torch.randn(4, 5, 3)
    out, last = run_recurrent(rnn, h, torch.ones(4, 5, dtype=torch.bool))
    torch.testing.assert_close(last, torch.cat([out[:, -1, :4], out[:, 0, 4:]], -1))


def test_a_head_is_linear_with_the_mean_first():
    head, h = GaussianHead(3, 2), torch.randn(5, 3)
    q = head(h)
    wanted = h @ head.linear.weight.T + head.linear.bias
    torch.testing.assert_close(q.mean, wanted[:, :2])
    torch.testing.assert_close(q.log_var, wanted[:, 2:])
