/* origin.c: where a line of results comes from (origin.h). */
#include "origin.h"

#include <time.h>

#include "build_info.h"
#include "run.h"
#include "tl/backend.h"
#include "tl/device.h"

void origin_begin(jsonl *j, const char *kind, const origin *o) {
    char when[32], gpu[64];
    time_t now = time(NULL);
    struct tm utc;
    strftime(when, sizeof when, "%Y-%m-%dT%H:%M:%SZ", gmtime_r(&now, &utc));
    tl_device_describe(o->ctx, gpu, sizeof gpu);
    jsonl_begin(j);
    jsonl_text(j, "kind", kind);
    jsonl_text(j, "program", o->program);
    jsonl_text(j, "commit", build_commit);
    jsonl_whole(j, "dirty", (uint64_t)build_dirty);
    jsonl_text(j, "sources", build_sources);
    jsonl_text(j, "time", when);
    jsonl_text(j, "dataset", o->dataset);
    jsonl_text(j, "device", o->ctx->ops->name);
    if (gpu[0]) jsonl_text(j, "gpu", gpu);
    jsonl_text(j, "machine", machine_name());
    jsonl_whole(j, "threads", (uint64_t)o->ctx->threads);
    jsonl_text(j, "real", TL_REAL_NAME);
    jsonl_text(j, "rungs", o->rungs);
    if (o->net) jsonl_text(j, "net", o->net);
    jsonl_whole(j, "seed", o->seed);
}
