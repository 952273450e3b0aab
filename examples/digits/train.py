"""Train a small residual network on handwritten digits and export it to ONNX.

The data are the 8x8 grey images that ship inside scikit-learn, so nothing is
downloaded.  PyTorch trains the network on 80 % of them and writes digits.onnx
with Conv and BatchNormalization as separate nodes.  The other 20 % are saved
as images.npy and labels.npy; PyTorch and ONNX Runtime must classify them alike.

Needs from PyPI (versions the files here were made with): torch 2.15.0,
scikit-learn 1.9.1, numpy 2.4.6, onnx 1.23.2, onnxruntime 1.31.1.
Takes about a minute on one CPU core; no GPU is used.
"""

from __future__ import annotations

import argparse
from collections import Counter, OrderedDict
from pathlib import Path

import numpy as np
import onnx
import onnxruntime
import torch
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split
from torch import Tensor, nn
from torch.nn import functional as F

CLASSES = 10
OPSET = 17
SPLIT_SEED = 0  # kept apart from --seed: the held-out images never change
BATCH_SIZE = 64
PEAK_LEARNING_RATE = 4e-3
WEIGHT_DECAY = 1e-2
LABEL_SMOOTHING = 0.05
REQUIRED_ACCURACY = 0.97
LOGIT_TOLERANCE = 1e-3


def conv_bn(inputs: int, outputs: int, kernel: int, stride: int = 1) -> nn.Sequential:
    """A convolution that keeps the image centred, followed by batch normalization."""
    convolution = nn.Conv2d(inputs, outputs, kernel, stride, padding=kernel // 2, bias=False)
    return nn.Sequential(OrderedDict(conv=convolution, norm=nn.BatchNorm2d(outputs)))


class ResidualBlock(nn.Module):
    """Two 3x3 convolutions plus a shortcut: a 1x1 convolution, or the input itself."""

    def __init__(self, inputs: int, outputs: int, stride: int, project: bool) -> None:
        super().__init__()
        self.first = conv_bn(inputs, outputs, 3, stride)
        self.second = conv_bn(outputs, outputs, 3)
        self.shortcut = conv_bn(inputs, outputs, 1, stride) if project else nn.Identity()
        # Both sides of the sum get the same gradient for their last bias.  Starting equal
        # they would stay equal, and the exporter would store one of them only and add an
        # Identity node for the other.
        for layer in self.shortcut.modules():
            if isinstance(layer, nn.BatchNorm2d):
                nn.init.uniform_(layer.bias, -0.1, 0.1)

    def forward(self, x: Tensor) -> Tensor:
        return F.relu(self.second(F.relu(self.first(x))) + self.shortcut(x))


class InceptionBlock(nn.Module):
    """A 1x1 and a 3x3 convolution side by side, joined along the channels."""

    def __init__(self, inputs: int, pointwise: int, spatial: int) -> None:
        super().__init__()
        self.pointwise = conv_bn(inputs, pointwise, 1)
        self.spatial = conv_bn(inputs, spatial, 3)

    def forward(self, x: Tensor) -> Tensor:
        return torch.cat([F.relu(self.pointwise(x)), F.relu(self.spatial(x))], dim=1)


def build_network() -> nn.Sequential:
    """The network: images [batch, 1, 8, 8] in, logits [batch, 10] out."""
    return nn.Sequential(
        OrderedDict(
            stem=nn.Sequential(conv_bn(1, 24, 3), nn.ReLU()),
            project=ResidualBlock(24, 24, stride=1, project=True),
            identity=ResidualBlock(24, 24, stride=1, project=False),
            inception=InceptionBlock(24, pointwise=16, spatial=24),
            reduce=ResidualBlock(40, 48, stride=2, project=True),
            pool=nn.AdaptiveAvgPool2d(1),
            flatten=nn.Flatten(),
            classify=nn.Linear(48, CLASSES),
        )
    )


def load_split() -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Training images and labels, then held-out images and labels."""
    digits = load_digits()
    images = (digits.images / 16.0).astype(np.float32)[:, np.newaxis]
    labels = digits.target.astype(np.int64)
    train_x, test_x, train_y, test_y = train_test_split(
        images, labels, test_size=0.2, stratify=labels, random_state=SPLIT_SEED
    )
    return (
        torch.from_numpy(train_x),
        torch.from_numpy(train_y),
        torch.from_numpy(test_x),
        torch.from_numpy(test_y),
    )


def shift_randomly(images: Tensor) -> Tensor:
    """Move each image by -1, 0 or +1 pixel along each axis, filling with black."""
    count, _, height, width = images.shape
    padded = F.pad(images, (1, 1, 1, 1))
    rows = torch.randint(0, 3, (count, 1)) + torch.arange(height)
    columns = torch.randint(0, 3, (count, 1)) + torch.arange(width)
    index = torch.arange(count)[:, None, None]
    return padded[index, 0, rows[:, :, None], columns[:, None, :]].unsqueeze(1)


def train(network: nn.Module, images: Tensor, labels: Tensor, epochs: int) -> None:
    """Train in place; the weights after the last epoch are the result."""
    steps_per_epoch = -(-len(images) // BATCH_SIZE)
    optimizer = torch.optim.AdamW(network.parameters(), weight_decay=WEIGHT_DECAY)
    schedule = torch.optim.lr_scheduler.OneCycleLR(
        optimizer, PEAK_LEARNING_RATE, epochs=epochs, steps_per_epoch=steps_per_epoch
    )
    network.train()
    for epoch in range(1, epochs + 1):
        total_loss = 0.0
        for batch in torch.randperm(len(images)).split(BATCH_SIZE):
            logits = network(shift_randomly(images[batch]))
            loss = F.cross_entropy(logits, labels[batch], label_smoothing=LABEL_SMOOTHING)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            schedule.step()
            total_loss += loss.item() * len(batch)
        if epoch % 10 == 0 or epoch == epochs:
            print(f"epoch {epoch:3d}  training loss {total_loss / len(images):.4f}")
    network.eval()


def export(network: nn.Module, images: Tensor, path: Path) -> None:
    """Write the network for exactly this many images, without folding BatchNormalization."""
    torch.onnx.export(
        network,
        (images,),
        str(path),
        dynamo=False,  # the TorchScript exporter, which PyTorch calls legacy and warns about
        opset_version=OPSET,
        input_names=["image"],
        output_names=["logits"],
        training=torch.onnx.TrainingMode.PRESERVE,  # EVAL would fold it into Conv
        do_constant_folding=False,
    )


def run_exported(path: Path, images: np.ndarray) -> np.ndarray:
    """The logits ONNX Runtime computes with the exported file."""
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    session = onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
    return session.run(["logits"], {"image": images})[0]


def accuracy(logits: np.ndarray, labels: np.ndarray) -> float:
    return float((logits.argmax(axis=1) == labels).mean())


def parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description="Train the digits network and export it to ONNX.",
        formatter_class=argparse.ArgumentDefaultsHelpFormatter,
    )
    parser.add_argument(
        "--output-dir",
        type=Path,
        default=Path(__file__).resolve().parent,
        help="folder for digits.onnx, images.npy and labels.npy",
    )
    parser.add_argument("--epochs", type=int, default=60, help="passes over the training images")
    parser.add_argument("--seed", type=int, default=0, help="seed of weights and batches")
    return parser.parse_args()


def main() -> None:
    arguments = parse_arguments()
    torch.manual_seed(arguments.seed)
    torch.set_num_threads(1)
    torch.use_deterministic_algorithms(True)

    train_x, train_y, test_x, test_y = load_split()
    network = build_network()
    parameters = sum(parameter.numel() for parameter in network.parameters())
    print(f"{parameters} parameters, {len(train_x)} training and {len(test_x)} held-out images")
    train(network, train_x, train_y, arguments.epochs)

    model_path = arguments.output_dir / "digits.onnx"
    arguments.output_dir.mkdir(parents=True, exist_ok=True)
    export(network, test_x, model_path)
    np.save(arguments.output_dir / "images.npy", test_x.numpy())
    np.save(arguments.output_dir / "labels.npy", test_y.numpy())

    model = onnx.load(model_path)
    onnx.checker.check_model(model, full_check=True)
    operators = Counter(node.op_type for node in model.graph.node)
    print("operators:", dict(operators))

    with torch.no_grad():
        expected = network(test_x).numpy()
    exported = run_exported(model_path, test_x.numpy())
    reached = accuracy(expected, test_y.numpy())
    print(f"held-out accuracy, PyTorch:      {reached:.4f}")
    print(f"held-out accuracy, ONNX Runtime: {accuracy(exported, test_y.numpy()):.4f}")
    difference = np.abs(expected - exported).max()
    print(f"largest difference of a logit:   {difference:.2e}")

    assert operators["Conv"] == operators["BatchNormalization"], "a BatchNormalization was folded"
    assert np.array_equal(expected.argmax(axis=1), exported.argmax(axis=1)), "predictions differ"
    assert difference <= LOGIT_TOLERANCE, "logits differ"
    assert reached >= REQUIRED_ACCURACY, "accuracy too low"


if __name__ == "__main__":
    main()
