import koffi from "koffi";

const llistxattr = koffi.load(null).func("long llistxattr(const char *path, uint8_t *list, size_t size)") as (
  path: string,
  list: Buffer,
  size: number,
) => number;

/** Names of a file's extended attributes, without following a link. Node has no function for it. */
export function listAttributes(path: string): string[] {
  const list = Buffer.alloc(4096);
  const length = llistxattr(path, list, list.length);
  if (length < 0) throw new Error(`llistxattr ${path}: errno ${koffi.errno()}`);
  return list
    .toString("latin1", 0, length)
    .split("\0")
    .filter((name) => name !== "");
}
