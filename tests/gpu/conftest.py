import pytest

from other_device import NAME, OtherDevice
from patchfold.gpu import devices


@pytest.fixture
def cpu(monkeypatch):
    """Meanwhile, engine="cuda" means torch's CPU device."""
    monkeypatch.setattr(devices, "DEVICE", "cpu")


@pytest.fixture
def elsewhere(monkeypatch):
    """Meanwhile, engine="cuda" means a device whose tensors do not mix with others."""
    monkeypatch.setattr(devices, "DEVICE", NAME)
    with OtherDevice():
        yield NAME
