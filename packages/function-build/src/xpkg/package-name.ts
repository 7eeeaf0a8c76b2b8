const MAX_NAME = 50;
const HASH = 12;
const MAX_LABEL = 63;

/** The name of a package's file, from its name and its image's digest: `NAME-HASH.xpkg`. */
export function packageFileName(name: string, digest: string): string {
  const hash = digest.slice(digest.indexOf(":") + 1);
  const label = `${name.slice(0, MAX_NAME)}-${hash.slice(0, HASH)}`
    .replaceAll(/[./:]/g, "-")
    .replaceAll(/[^a-z0-9-]/g, "");
  return `${label.slice(0, MAX_LABEL).replaceAll(/^-+|-+$/g, "")}.xpkg`;
}
