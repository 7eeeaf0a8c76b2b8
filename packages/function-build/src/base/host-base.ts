import { createHash } from "node:crypto";
import { statSync } from "node:fs";
import { type BuildEntry, buildImage, type Image, ImageError, type Store } from "@xfn/oci-rootfs";
import { type HostBaseKind, hostTree } from "./host-tree.ts";

// Must change when the same files would become another image.
const FORMAT = "1";
/** The names of all bases begin so. `xfn images` leaves them out. */
export const HOST_BASES = "xfn-host-base/";
const PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

/**
 * The default base image, made from this machine's files. The store has it under a name derived from its contents, so
 * that only the first build packs it.
 *
 * @param onMake - called before a base is packed, which takes seconds
 */
export async function hostBase(store: Store, wanted: HostBaseKind, onMake: (title: string) => void): Promise<Image> {
  const tree = await hostTree(wanted);
  const entries = tree.entries();
  const title = wanted.kind === "script" ? wanted.interpreter : wanted.kind;
  const name = `${HOST_BASES}${title.replaceAll(/[^a-z0-9]+/g, "-")}:${fingerprint(entries)}`;
  try {
    return await store.image(name, { pullPolicy: "Never" });
  } catch (error) {
    if (!(error instanceof ImageError) || error.code !== "NotFound") throw error;
  }
  onMake(title);
  await buildImage({ store, name, layers: [{ entries }], config: { env: { PATH } } });
  return store.image(name, { pullPolicy: "Never" });
}

// Identifies a file of the machine by its size and time: hashing 100 MB of Node would take longer than the rest of a
// build.
function fingerprint(entries: readonly BuildEntry[]): string {
  const hash = createHash("sha256").update(FORMAT);
  const sorted = entries.toSorted((a, b) => (a.path < b.path ? -1 : 1));
  for (const entry of sorted) {
    hash.update(`\0${entry.path}\0${entry.mode ?? ""}\0`);
    if ("source" in entry) {
      const { size, mtimeMs } = statSync(entry.source);
      hash.update(`${entry.source}\0${size}\0${mtimeMs}`);
    } else if ("content" in entry) hash.update(entry.content);
    else if ("link" in entry) hash.update(entry.link);
  }
  return hash.digest("hex").slice(0, 16);
}
