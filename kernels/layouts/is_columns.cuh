// IS_COLUMNS(LAYOUT) is 1 for `csr` alone, so that a kernel may read columns otherwise than rows that are decoded.

#define IS_COLUMNS_csr 1
#define IS_COLUMNS_OF(layout) IS_COLUMNS_##layout
#define IS_COLUMNS(macro) IS_COLUMNS_OF(macro)
