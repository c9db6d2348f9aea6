# site.mk: the handouts as pages for a browser and as a PDF (site/). No part of a handout. Included
# by the Makefile.

.PHONY: site
site: ## the instructor's: the handouts as pages, offline and searchable: OUT=dir LANGUAGE=zh_CN PDF=1
site: $(PAGE_CATALOGUES)
	@$(LAB_PYTHON) site/build.py $(call given,$(OPTIONS_site))
