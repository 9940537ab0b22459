"""Whether it is night: `make test-all` sets `WHOLE_MATRIX`, and has every test meet every case."""

import os

NIGHT = "WHOLE_MATRIX" in os.environ
