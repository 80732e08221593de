# SPDX-License-Identifier: LGPL-2.1-or-later
# Packages and releases: each in a folder of its own below BUILD, from the sources alone.

.PHONY: deb
deb: deps-deb
	@packaging/deb.sh $(BUILD)/deb $(VERSION)
	@echo "snapwalk: the packages are in $(BUILD)/deb"

.PHONY: rpm
rpm: deps-rpm
	@packaging/rpm.sh $(BUILD)/rpm $(VERSION)
	@echo "snapwalk: the packages are in $(BUILD)/rpm/RPMS"

# With a build of its own: without debug information, which is stripped here anyway, no path of this machine is in it, so
# that two builds of the same sources have the same bytes.
.PHONY: dist
dist: deps-dist
	@$(MAKE) --no-print-directory -s BUILD=$(BUILD)/dist-build CFLAGS=-O2 static
	@packaging/dist.sh $(BUILD)/dist $(VERSION) $(BUILD)/dist-build/static/snapwalk
	@echo "snapwalk: the files of the release are in $(BUILD)/dist"

# Both twice, in other folders and environments: the same bytes.
.PHONY: check-reproducible
check-reproducible: deps-dist deps-deb
	@tests/reproducible.sh $(BUILD)/reproducible

# NEXT is the version that the fragments in news/ are for: the first one after a release raises it.
NEXT ?= 0.2.0
.PHONY: news release
news:
	@packaging/news.py show $(NEXT)
release:
	@packaging/release.sh $(NEXT)
