"""What the tests of this room share: the choice of the kernel, and the case tables."""

from collections.abc import Iterator

import pytest

from nbtext.features import counting


@pytest.fixture(scope="module", params=["compiled", "plain"])
def counting_kernel(request: pytest.FixtureRequest) -> Iterator[str]:
    """Every test that uses it runs with the kernel and with plain Python."""
    if request.param == "compiled" and not counting.HAS_KERNEL:
        pytest.skip("the kernel is not compiled")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(counting, "HAS_KERNEL", request.param == "compiled")
        yield request.param
