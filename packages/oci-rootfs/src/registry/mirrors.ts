import { ImageError } from "../base/errors.ts";
import { canonicalRegistry, parseRegistry, tryParseImageName } from "../image/image-name.ts";
import type { RegistryOptions } from "./options.ts";

/** A host with copies of a registry's repositories. */
export interface Mirror {
  /** The host, as image names spell it. */
  readonly host: string;
  /** The path before a repository's name; empty, or without a slash at its ends. */
  readonly prefix: string;
}

/** Parses `HOST[:PORT][/PATH]`. @throws ImageError InvalidReference */
export function parseMirror(text: string): Mirror {
  const slash = text.indexOf("/");
  const host = slash < 0 ? text : text.slice(0, slash);
  const prefix = slash < 0 ? "" : text.slice(slash + 1).replace(/\/$/, "");
  const name = tryParseImageName(`${host}/${prefix === "" ? "any" : `${prefix}/any`}`);
  if (name?.kind === "registry" && name.qualified && name.repository.endsWith("any"))
    return { host: name.registry, prefix };
  throw new ImageError(
    "InvalidReference",
    `${JSON.stringify(text.slice(0, 200))} is not a mirror: expected a host with a dot or a port and an optional path, such as mirror.example:5000/hub`,
  );
}

/** The name of a repository on a mirror. */
export function mirroredRepository({ prefix }: Mirror, repository: string): string {
  return prefix === "" ? repository : `${prefix}/${repository}`;
}

/** The mirrors of a registry, whose names in the settings may have another spelling. */
export function mirrorsOf(mirrors: RegistryOptions["mirrors"], registry: string): Mirror[] {
  return Object.entries(mirrors ?? {})
    .filter(([name]) => canonicalRegistry(name) === registry)
    .flatMap(([, texts]) => texts.map(parseMirror));
}

/** The form of a mirror in settings, for messages. */
export const MIRROR_FORM = "REGISTRY=HOST[/PATH], such as docker.io=mirror.example:5000";

/**
 * Reads mirrors of registries from texts of {@link MIRROR_FORM}.
 *
 * @param onInvalid called with each text of another form
 */
export function parseMirrors(texts: readonly string[], onInvalid: (text: string) => void): Record<string, string[]> {
  const mirrors: Record<string, string[]> = Object.create(null) as Record<string, string[]>;
  for (const text of texts) {
    const equals = Math.max(text.indexOf("="), 0);
    const mirror = text.slice(equals + 1);
    try {
      const registry = parseRegistry(text.slice(0, equals));
      parseMirror(mirror);
      mirrors[registry] = [...(mirrors[registry] ?? []), mirror];
    } catch (error) {
      if (!(error instanceof ImageError)) throw error;
      onInvalid(text);
    }
  }
  return mirrors;
}
