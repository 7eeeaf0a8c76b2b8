import { X509Certificate } from "node:crypto";
import { readFileSync, statSync } from "node:fs";
import { messageOf } from "@xfn/errors";
import { ImageError } from "../base/errors.ts";
import { parseRegistry } from "../image/image-name.ts";
import { MIRROR_FORM, parseMirrors } from "./mirrors.ts";
import type { RegistryOptions } from "./options.ts";

/** How a program accesses registries, as its flags say. */
export type RegistryAccess = Pick<
  RegistryOptions,
  "certificateAuthorities" | "insecureRegistries" | "mirrors" | "trustedRealms"
>;

/** The texts of the flags for {@link RegistryAccess}. */
export interface RegistryAccessFlags {
  readonly insecureRegistry: readonly string[];
  readonly mirror: readonly string[];
  /** PEM files. */
  readonly registryCa: readonly string[];
  readonly trustedRealm: readonly string[];
}

/** Reads the flags of a server that pulls images. @param say receives each problem, one line */
export function readRegistryAccess(flags: RegistryAccessFlags, say: (problem: string) => void): RegistryAccess {
  const hosts = (flag: string, values: readonly string[]): string[] =>
    values.flatMap((host) => readRegistryHost(flag, host, say) ?? []);
  const mirrors = parseMirrors(flags.mirror, (text) => {
    say(`--mirror: ${JSON.stringify(text)}: it must be ${MIRROR_FORM}`);
  });
  const certificateAuthorities = flags.registryCa.flatMap((file) => {
    try {
      return [readAuthorities(file)];
    } catch (error) {
      const reason = messageOf(error);
      say(`--registry-ca: cannot read certificates (PEM) from ${file}: ${reason}`);
      return [];
    }
  });
  return {
    insecureRegistries: hosts("--insecure-registry", flags.insecureRegistry),
    trustedRealms: hosts("--trusted-realm", flags.trustedRealm),
    mirrors,
    certificateAuthorities,
  };
}

/** The host of a flag as image names spell it. */
export function readRegistryHost(flag: string, value: string, say: (problem: string) => void): string | undefined {
  try {
    return parseRegistry(value);
  } catch (error) {
    if (!(error instanceof ImageError)) throw error;
    say(`${flag}: ${JSON.stringify(value)}: it must be a host such as localhost:5000 or registry.example.org`);
    return undefined;
  }
}

/** The system's bundles have some 200 KiB. */
const MAX_CA_BYTES = 4 * 1024 * 1024;

/** Reads a file of certificates (PEM). @throws Error if it has none */
export function readAuthorities(file: string): string {
  if (statSync(file).size > MAX_CA_BYTES) throw new Error(`more than ${MAX_CA_BYTES} bytes`);
  const pem = readFileSync(file, "utf8");
  // Refuse other files: TLS would ignore them, and report an untrusted registry.
  if (new X509Certificate(pem).raw.length === 0) throw new Error("an empty certificate");
  return pem;
}
