/* sites.c: from the address of an access in the code to a small number, and to a source line. */
#define _GNU_SOURCE
#include "check.h"

#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <sys/auxv.h>
#include <unistd.h>

static hc_check_site *sites;
static unsigned site_count = 1; /* site 0 means unknown */
static uintptr_t module_base, constants, constants_end;
static uintptr_t relocated, relocated_end; /* constants that hold addresses, such as vtables */
static char module_path[4096];

/* ---- this module: a program or a plug-in ---- */

static int look_at(struct dl_phdr_info *info, size_t size, void *unused) {
    (void)size, (void)unused;
    uintptr_t here = (uintptr_t)&look_at;
    const ElfW(Phdr) *text = NULL;
    for (int i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *h = &info->dlpi_phdr[i];
        uintptr_t from = info->dlpi_addr + h->p_vaddr;
        if (h->p_type == PT_LOAD && here - from < h->p_memsz) text = h;
    }
    if (!text) return 0;
    hc_check.text = info->dlpi_addr + text->p_vaddr;
    hc_check.text_bytes = text->p_memsz;
    module_base = info->dlpi_addr;
    for (int i = 0; i < info->dlpi_phnum; i++) { /* the read-only data behind the code */
        const ElfW(Phdr) *h = &info->dlpi_phdr[i];
        uintptr_t from = info->dlpi_addr + h->p_vaddr;
        if (h->p_type == PT_GNU_RELRO) relocated = from, relocated_end = from + h->p_memsz;
        if (h->p_type != PT_LOAD || h->p_flags != PF_R || from < hc_check.text) continue;
        constants = from;
        constants_end = from + h->p_memsz;
    }
    if (info->dlpi_name && *info->dlpi_name) {
        snprintf(module_path, sizeof module_path, "%s", info->dlpi_name);
    } else {
        ssize_t n = readlink("/proc/self/exe", module_path, sizeof module_path - 1);
        module_path[n > 0 ? n : 0] = '\0';
        if (n <= 0)
            snprintf(module_path, sizeof module_path, "%s", (const char *)getauxval(AT_EXECFN));
    }
    return 1;
}

static void set_up(void) {
    dl_iterate_phdr(look_at, NULL);
    size_t table = hc_check.text_bytes * sizeof *hc_check.site_at;
    sites = mmap(NULL, SITES_MAX * sizeof *sites, PROT_READ | PROT_WRITE,
                 MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    hc_check.site_at = mmap(NULL, table, PROT_READ | PROT_WRITE,
                            MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (sites == MAP_FAILED || (void *)hc_check.site_at == MAP_FAILED) abort();
}

bool hc_check_is_constant(uintptr_t p) {
    if (!sites) set_up();
    return (p >= constants && p < constants_end) || (p >= relocated && p < relocated_end);
}

/* More than 65,535 accesses in one program: the last ones share a site. */
unsigned hc_check_new_site(uintptr_t pc, unsigned bytes, unsigned kind) {
    if (!sites) set_up();
    uintptr_t at = pc - hc_check.text;
    if (at < hc_check.text_bytes && hc_check.site_at[at]) return hc_check.site_at[at];
    unsigned site = site_count < SITES_MAX - 1 ? site_count++ : SITES_MAX - 1;
    sites[site] = (hc_check_site){.pc = pc, .bytes = bytes, .kind = kind};
    if (at < hc_check.text_bytes) hc_check.site_at[at] = (uint16_t)site;
    return site;
}

hc_check_site *hc_check_sites(unsigned *count) {
    *count = site_count;
    return sites;
}

/* A return address is one past its call. */
static size_t offset_of(const hc_check_site *site) { return site->pc - 1 - module_base; }

int hc_check_site_counts(hostcuda_site_counts *out, int room) {
    int count = (int)site_count - 1; /* site 0 is nobody's */
    for (int i = 0; i < count && i < room; i++) {
        const hc_check_site *site = &sites[i + 1];
        out[i] = (hostcuda_site_counts){offset_of(site), site->sectors, site->shared_requests,
                                        site->conflicts};
    }
    return count;
}

/* ---- lines ---- */

/* addr2line -a -i -f answers each address by itself ("0x…") and then function and file:line of the
 * innermost frame first; the first one of a student's counts. */
static void read_answers(FILE *answers, unsigned first, unsigned end) {
    char function[4300], line[4300];
    unsigned site = first - 1;
    while (fgets(function, sizeof function, answers)) {
        if (strncmp(function, "0x", 2) == 0) {
            site++;
            continue;
        }
        if (!fgets(line, sizeof line, answers)) return;
        char *colon = strrchr(line, ':');
        if (site < first || site >= end || !colon || *sites[site].file) continue;
        *colon = '\0';
        if (!hc_source_is_students(function, line) || atoi(colon + 1) == 0) continue;
        sites[site].file = strdup(line);
        sites[site].line = atoi(colon + 1);
    }
}

static void ask(unsigned first, unsigned end, int questions) {
    char command[sizeof module_path];
    snprintf(command, sizeof command, "%s", module_path);
    char *arguments[] = {(char *)"addr2line", (char *)"-aifCe", command, NULL};
    pid_t child;
    FILE *answers = hc_addr2line(arguments, questions, &child);
    if (!answers) return;
    read_answers(answers, first, end);
    fclose(answers);
    waitpid(child, NULL, 0);
}

/* The addresses go through a file of questions: they may be too many for a command line. It is one
 * of memory, for where a worker is graded there is no folder to write to. */
void hc_check_find_lines(unsigned first, unsigned end) {
    while (first < end && sites[first].file) first++;
    while (end > first && sites[end - 1].file) end--;
    if (first >= end) return;
    int file = memfd_create("hostcuda-sites", MFD_CLOEXEC);
    FILE *questions = file >= 0 ? fdopen(file, "w") : NULL;
    for (unsigned i = first; i < end; i++) {
        if (sites[i].file) free(sites[i].file);
        sites[i].file = strdup("");
        if (questions) fprintf(questions, "0x%zx\n", offset_of(&sites[i]));
    }
    if (!questions) return;
    rewind(questions);
    ask(first, end, file);
    fclose(questions);
}
