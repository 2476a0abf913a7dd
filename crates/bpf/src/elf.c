// SPDX-License-Identifier: MIT OR Apache-2.0
/* What libbpf calls of libelf and zlib, looked up when it is first called.
 *
 * Linked the ordinary way, the two libraries would have to be there before any command runs, and slim
 * systems lack libelf. So these functions stand before the libraries' own; each finds its namesake by
 * dlsym. Without the library it fails as the real one does on bad input, and dumbbell_elf_missing tells
 * why before it comes to that.
 */
#define _GNU_SOURCE
#define _LARGEFILE64_SOURCE
#include <dlfcn.h>
#include <gelf.h>
#include <libelf.h>
#include <pthread.h>
#include <stddef.h>
#include <zlib.h>

/* Names of their second decade: the interfaces have not changed since. */
#define LIBELF "libelf.so.1"
#define LIBZ   "libz.so.1"

static void *libelf, *libz;
static const char *missing;
static pthread_once_t opened = PTHREAD_ONCE_INIT;

static void open_libraries(void)
{
	libelf = dlopen(LIBELF, RTLD_NOW | RTLD_LOCAL);
	libz = dlopen(LIBZ, RTLD_NOW | RTLD_LOCAL);
	if (!libelf)
		missing = LIBELF;
	else if (!libz)
		missing = LIBZ;
}

/* The name of the first library that is not there; null when both are. */
const char *dumbbell_elf_missing(void)
{
	pthread_once(&opened, open_libraries);
	return missing;
}

static void *find(const char *name)
{
	void *symbol = NULL;

	pthread_once(&opened, open_libraries);
	if (libelf)
		symbol = dlsym(libelf, name);
	if (!symbol && libz)
		symbol = dlsym(libz, name);
	return symbol;
}

/* A function that calls its namesake, or returns `failure`. Looking it up twice at once does no harm. */
#define LAZY(result, name, params, args, failure)                         \
	result name params                                                \
	{                                                                 \
		static void *known;                                       \
		void *real = __atomic_load_n(&known, __ATOMIC_ACQUIRE);   \
                                                                          \
		if (!real) {                                              \
			real = find(#name);                               \
			__atomic_store_n(&known, real, __ATOMIC_RELEASE); \
		}                                                         \
		return real ? ((result(*) params)real)args : failure;     \
	}

LAZY(Elf64_Ehdr *, elf64_getehdr, (Elf * elf), (elf), NULL)
LAZY(Elf64_Shdr *, elf64_getshdr, (Elf_Scn * scn), (scn), NULL)
LAZY(Elf64_Ehdr *, elf64_newehdr, (Elf * elf), (elf), NULL)
LAZY(Elf *, elf_begin, (int fd, Elf_Cmd cmd, Elf *ref), (fd, cmd, ref), NULL)
LAZY(int, elf_end, (Elf * elf), (elf), 0)
LAZY(const char *, elf_errmsg, (int error), (error), LIBELF " is not there")
LAZY(Elf_Data *, elf_getdata, (Elf_Scn * scn, Elf_Data *data), (scn, data), NULL)
LAZY(int, elf_getphdrnum, (Elf * elf, size_t *count), (elf, count), -1)
LAZY(Elf_Scn *, elf_getscn, (Elf * elf, size_t index), (elf, index), NULL)
LAZY(int, elf_getshdrnum, (Elf * elf, size_t *count), (elf, count), -1)
LAZY(int, elf_getshdrstrndx, (Elf * elf, size_t *index), (elf, index), -1)
LAZY(Elf_Kind, elf_kind, (Elf * elf), (elf), ELF_K_NONE)
LAZY(Elf *, elf_memory, (char *image, size_t size), (image, size), NULL)
LAZY(size_t, elf_ndxscn, (Elf_Scn * scn), (scn), 0)
LAZY(Elf_Data *, elf_newdata, (Elf_Scn * scn), (scn), NULL)
LAZY(Elf_Scn *, elf_newscn, (Elf * elf), (elf), NULL)
LAZY(Elf_Scn *, elf_nextscn, (Elf * elf, Elf_Scn *scn), (elf, scn), NULL)
LAZY(Elf_Data *, elf_rawdata, (Elf_Scn * scn, Elf_Data *data), (scn, data), NULL)
LAZY(char *, elf_strptr, (Elf * elf, size_t section, size_t offset), (elf, section, offset), NULL)
LAZY(loff_t, elf_update, (Elf * elf, Elf_Cmd cmd), (elf, cmd), -1)
LAZY(unsigned int, elf_version, (unsigned int version), (version), EV_NONE)
LAZY(int, gelf_getclass, (Elf * elf), (elf), ELFCLASSNONE)
LAZY(GElf_Ehdr *, gelf_getehdr, (Elf * elf, GElf_Ehdr *to), (elf, to), NULL)
LAZY(size_t, gelf_getnote,
     (Elf_Data * data, size_t offset, GElf_Nhdr *to, size_t *name, size_t *content),
     (data, offset, to, name, content), 0)
LAZY(GElf_Phdr *, gelf_getphdr, (Elf * elf, int index, GElf_Phdr *to), (elf, index, to), NULL)
LAZY(GElf_Shdr *, gelf_getshdr, (Elf_Scn * scn, GElf_Shdr *to), (scn, to), NULL)
LAZY(GElf_Sym *, gelf_getsym, (Elf_Data * data, int index, GElf_Sym *to), (data, index, to), NULL)
LAZY(GElf_Verdaux *, gelf_getverdaux, (Elf_Data * data, int offset, GElf_Verdaux *to),
     (data, offset, to), NULL)
LAZY(GElf_Verdef *, gelf_getverdef, (Elf_Data * data, int offset, GElf_Verdef *to),
     (data, offset, to), NULL)
LAZY(GElf_Versym *, gelf_getversym, (Elf_Data * data, int index, GElf_Versym *to),
     (data, index, to), NULL)
LAZY(gzFile, gzopen64, (const char *path, const char *mode), (path, mode), NULL)
LAZY(char *, gzgets, (gzFile file, char *to, int size), (file, to, size), NULL)
LAZY(int, gzclose, (gzFile file), (file), Z_STREAM_ERROR)
