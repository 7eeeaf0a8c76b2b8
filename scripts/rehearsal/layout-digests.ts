import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";

/** The digests of the images in layouts, by name. */
export function readLayoutDigests(folder: string, tag: string): [string, string][] {
  return readdirSync(folder).map((name) => {
    const index = JSON.parse(readFileSync(join(folder, name, "index.json"), "utf8")) as {
      manifests: readonly { digest: string; annotations: Readonly<Record<string, string>> }[];
    };
    const found = index.manifests.find(({ annotations }) => annotations["org.opencontainers.image.ref.name"] === tag);
    if (found === undefined) throw new Error(`${name} has no tag ${tag}`);
    return [name, found.digest];
  });
}
