/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * Files by which a module shows what it knows (debugfs, /proc, seq_file). Nobody reads them during a run, so none is
 * made; a warning of the run says so once. What would fill them compiles, and is never called.
 */
#ifndef DUMBBELL_MODULE_FILES_H
#define DUMBBELL_MODULE_FILES_H

#include "kernel_module.h"

struct dentry;
struct inode {
	void *i_private;
};
struct file {
	void *private_data;
	struct inode *f_inode;
};
struct proc_dir_entry;
struct seq_file {
	void *private;
};
typedef unsigned short umode_t;
typedef struct cca_poll_table poll_table;
struct file_operations {
	struct module *owner;
	loff_t (*llseek)(struct file *file, loff_t offset, int whence);
	ssize_t (*read)(struct file *file, char *to, size_t size, loff_t *at);
	ssize_t (*write)(struct file *file, const char *from, size_t size, loff_t *at);
	int (*open)(struct inode *inode, struct file *file);
	int (*release)(struct inode *inode, struct file *file);
};
struct proc_ops {
	unsigned int proc_flags;
	int (*proc_open)(struct inode *inode, struct file *file);
	ssize_t (*proc_read)(struct file *file, char *to, size_t size, loff_t *at);
	ssize_t (*proc_write)(struct file *file, const char *from, size_t size, loff_t *at);
	loff_t (*proc_lseek)(struct file *file, loff_t offset, int whence);
	int (*proc_release)(struct inode *inode, struct file *file);
};
struct seq_operations {
	void *(*start)(struct seq_file *m, loff_t *at);
	void (*stop)(struct seq_file *m, void *v);
	void *(*next)(struct seq_file *m, void *v, loff_t *at);
	int (*show)(struct seq_file *m, void *v);
};
#define SEQ_START_TOKEN	   ((void *)1)

#define CCA_NO_FILE_(what) CCA_WARN_(true, what ": no file is made in the simulator")

/* As a kernel without debugfs answers, which modules go on after. */
#define debugfs_create_dir(name, parent)                                     \
	((void)(name), (void)(parent), CCA_NO_FILE_("debugfs_create_dir()"), \
	 (struct dentry *)ERR_PTR(-ENODEV))
#define debugfs_create_file(name, mode, parent, data, fops)        \
	((void)(name), (void)(parent), (void)(data), (void)(fops), \
	 CCA_NO_FILE_("debugfs_create_file()"), (struct dentry *)ERR_PTR(-ENODEV))
#define debugfs_create_u8(name, mode, parent, v) \
	((void)(parent), (void)(v), (void)CCA_NO_FILE_("debugfs_create_u8()"))
#define debugfs_create_u16(name, mode, parent, v) \
	((void)(parent), (void)(v), (void)CCA_NO_FILE_("debugfs_create_u16()"))
#define debugfs_create_u32(name, mode, parent, v) \
	((void)(parent), (void)(v), (void)CCA_NO_FILE_("debugfs_create_u32()"))
#define debugfs_create_u64(name, mode, parent, v) \
	((void)(parent), (void)(v), (void)CCA_NO_FILE_("debugfs_create_u64()"))
#define debugfs_create_bool(name, mode, parent, v) \
	((void)(parent), (void)(v), (void)CCA_NO_FILE_("debugfs_create_bool()"))
#define debugfs_create_atomic_t(name, mode, parent, v) \
	((void)(parent), (void)(v), (void)CCA_NO_FILE_("debugfs_create_atomic_t()"))
#define debugfs_remove(dentry)			((void)(dentry))
#define debugfs_remove_recursive(dentry)	((void)(dentry))
#define debugfs_lookup_and_remove(name, parent) ((void)(name), (void)(parent))

/* As a kernel that has made it. */
#define CCA_PROC_FILE_ ((struct proc_dir_entry *)&init_net)
#define proc_create(name, mode, parent, ops) \
	((void)(name), (void)(parent), (void)(ops), CCA_NO_FILE_("proc_create()"), CCA_PROC_FILE_)
#define proc_create_data(name, mode, parent, ops, data) \
	((void)(data), proc_create(name, mode, parent, ops))
#define proc_create_single(name, mode, parent, show) proc_create(name, mode, parent, show)
#define proc_create_seq(name, mode, parent, ops)     proc_create(name, mode, parent, ops)
#define proc_mkdir(name, parent) \
	((void)(name), (void)(parent), CCA_NO_FILE_("proc_mkdir()"), CCA_PROC_FILE_)
#define proc_remove(entry)		((void)(entry))
#define remove_proc_entry(name, parent) ((void)(name), (void)(parent))
#define pde_data(inode)			((void)(inode), (void *)NULL)

#define seq_printf(m, ...)		((void)(m), (void)cca_no_print("" __VA_ARGS__))
#define seq_puts(m, text)		((void)(m), (void)(text))
#define seq_putc(m, c)			((void)(m), (void)(c))
#define seq_write(m, data, n)		((void)(m), (void)(data), (void)(n), 0)
#define seq_has_overflowed(m)		((void)(m), false)
#define single_open(file, show, data)	((void)(file), (void)(show), (void)(data), -ENODEV)
#define seq_open(file, ops)		((void)(file), (void)(ops), -ENODEV)
#define CCA_FILE_FUNCTION_		NULL
#define seq_read			CCA_FILE_FUNCTION_
#define seq_lseek			CCA_FILE_FUNCTION_
#define single_release			CCA_FILE_FUNCTION_
#define seq_release			CCA_FILE_FUNCTION_
#define simple_open			CCA_FILE_FUNCTION_
#define default_llseek			CCA_FILE_FUNCTION_
#define noop_llseek			CCA_FILE_FUNCTION_
#define DEFINE_SHOW_ATTRIBUTE(name)                                                    \
	static int name##_open(struct inode *inode, struct file *file) __maybe_unused; \
	static int name##_open(struct inode *inode, struct file *file)                 \
	{                                                                              \
		(void)inode;                                                           \
		return single_open(file, name##_show, NULL);                           \
	}                                                                              \
	static const struct file_operations name##_fops __maybe_unused = { .open = name##_open }
#define DEFINE_PROC_SHOW_ATTRIBUTE(name)                                \
	static const struct proc_ops name##_proc_ops __maybe_unused = { \
		.proc_flags = sizeof(&name##_show) * 0                  \
	}
#define simple_read_from_buffer(to, size, at, from, length) \
	((void)(to), (void)(size), (void)(at), (void)(from), (ssize_t)((length)*0))

#endif /* DUMBBELL_MODULE_FILES_H */
