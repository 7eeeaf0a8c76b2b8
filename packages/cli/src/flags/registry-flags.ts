import { X509Certificate } from "node:crypto";
import { readFileSync, statSync } from "node:fs";
import { InputError } from "@xfn/input";
import {
  dockerCredentials,
  ImageError,
  type Platform,
  parsePlatform,
  parseReference,
  parseRegistry,
  type RegistryOptions,
} from "@xfn/oci-rootfs";
import { usageError } from "../errors/cli-error.ts";
import { registryHosts } from "./registry-hosts.ts";

/** Registry options of the commands that pull or push. */
export interface RegistryFlags {
  readonly insecureRegistry?: readonly string[];
  /** `REGISTRY=HOST[/PATH]` */
  readonly mirror?: readonly string[];
  /** PEM files. */
  readonly registryCa?: readonly string[];
  readonly trustedRealm?: readonly string[];
}

/** The system's bundles have some 200 KiB. */
const MAX_CA_BYTES = 4 * 1024 * 1024;

/**
 * Translates the flags to options of the library, with the credentials of `docker login`.
 *
 * @throws CliError `Usage` for an invalid flag
 * @throws InputError for a file without a certificate
 */
export function registryOptions(flags: RegistryFlags): RegistryOptions {
  const { registryCa, trustedRealm } = flags;
  const mirrors = mirrorsOf(flags.mirror ?? []);
  return {
    credentials: dockerCredentials(),
    insecureRegistries: registryHosts(flags.insecureRegistry),
    ...(mirrors === undefined ? {} : { mirrors }),
    ...(registryCa === undefined ? {} : { certificateAuthorities: registryCa.map(readCertificates) }),
    ...(trustedRealm === undefined ? {} : { trustedRealms: registryHosts(trustedRealm, "--trusted-realm") }),
  };
}

/** @throws CliError `Usage` */
export function platformOption(text: string): Platform {
  if (!/^[a-z0-9]+\/[a-z0-9_]+(?:\/[a-z0-9]+)?$/.test(text))
    throw usageError(`--platform requires OS/ARCHITECTURE[/VARIANT], such as linux/arm64, not ${JSON.stringify(text)}`);
  return parsePlatform(text);
}

function mirrorsOf(values: readonly string[]): Record<string, string[]> | undefined {
  if (values.length === 0) return undefined;
  const mirrors: Record<string, string[]> = Object.create(null) as Record<string, string[]>;
  for (const value of values) {
    const equals = value.indexOf("=");
    const [registry, mirror] = [value.slice(0, Math.max(equals, 0)), value.slice(equals + 1)];
    try {
      // A mirror has the form of an image name without the last part.
      const { qualified } = parseReference(`${mirror}/any`);
      if (!qualified) throw new ImageError("InvalidReference", "no host");
      const key = parseRegistry(registry);
      mirrors[key] = [...(mirrors[key] ?? []), mirror];
    } catch (error) {
      if (!(error instanceof ImageError)) throw error;
      throw usageError(
        `--mirror requires REGISTRY=HOST[/PATH], such as docker.io=mirror.example:5000, not ${JSON.stringify(value)}`,
      );
    }
  }
  return mirrors;
}

function readCertificates(file: string): string {
  try {
    if (statSync(file).size > MAX_CA_BYTES) throw new Error(`more than ${MAX_CA_BYTES} bytes`);
    const pem = readFileSync(file, "utf8");
    // Refuse other files: TLS would ignore them, and report an untrusted registry.
    return new X509Certificate(pem).raw.length > 0 ? pem : "";
  } catch (error) {
    throw new InputError(
      `--registry-ca: cannot read certificates (PEM) from ${file}: ${error instanceof Error ? error.message : String(error)}`,
      { cause: error },
    );
  }
}
