# image.mk: an OCI image in which submissions are graded (image/). No part of a handout. Included by
# the Makefile.

.PHONY: image
image: ## the instructor's: an OCI image for grading: OUT=file TAG=name FROM=handout BASE=image …
	@image/build.sh $(call given,$(OPTIONS_image))
