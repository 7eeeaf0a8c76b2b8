import { ImageError } from "../base/errors.ts";
import { parseReference } from "../image/image-name.ts";

/** A place that has copies of a registry's repositories. */
export interface Mirror {
  /** As image names spell it. */
  readonly host: string;
  /** What goes before a repository's name there; empty, or without a slash at its ends. */
  readonly prefix: string;
}

/** Reads `HOST[:PORT][/PATH]`. @throws ImageError InvalidReference */
export function parseMirror(text: string): Mirror {
  const slash = text.indexOf("/");
  const host = slash < 0 ? text : text.slice(0, slash);
  const prefix = slash < 0 ? "" : text.slice(slash + 1).replace(/\/$/, "");
  try {
    const { registry, repository } = parseReference(`${host}/${prefix === "" ? "any" : `${prefix}/any`}`);
    if (registry === host.toLowerCase() && repository.endsWith("any")) return { host: registry, prefix };
  } catch {
    // Said below, in words that fit.
  }
  throw new ImageError(
    "InvalidReference",
    `${JSON.stringify(text.slice(0, 200))} is not a mirror: expected a host with a dot or a port, and perhaps a path, such as mirror.example:5000/hub`,
  );
}

/** What a repository is called at a mirror. */
export function mirroredRepository({ prefix }: Mirror, repository: string): string {
  return prefix === "" ? repository : `${prefix}/${repository}`;
}
