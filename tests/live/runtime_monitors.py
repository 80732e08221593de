#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
# tier: runtime 5s
"""A real Alertmanager and a real Monit; here they must be installed."""
from harness import Tap
from test_daemon_integrations import alertmanager, monit


if __name__ == "__main__":
    Tap.main(alertmanager, monit)
