import { messageOf } from "@xfn/errors";
import { InputError } from "@xfn/input";
import {
  dockerCredentials,
  MIRROR_FORM,
  type Platform,
  parseMirrors,
  parsePlatform,
  type RegistryOptions,
  readAuthorities,
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

/**
 * Translates the flags to options of the library, with the credentials of `xfn login`.
 *
 * @throws CliError `Usage` for an invalid flag
 * @throws InputError for a file without a certificate
 */
export function registryOptions(flags: RegistryFlags): RegistryOptions {
  const { registryCa, trustedRealm } = flags;
  return {
    credentials: dockerCredentials(),
    insecureRegistries: registryHosts(flags.insecureRegistry),
    mirrors: mirrorsOf(flags.mirror ?? []),
    certificateAuthorities: registryCa?.map(readCertificates),
    trustedRealms: registryHosts(trustedRealm, "--trusted-realm"),
  };
}

/** @throws CliError `Usage` */
export function platformOption(text: string): Platform {
  if (!/^[a-z0-9]+\/[a-z0-9_]+(?:\/[a-z0-9]+)?$/.test(text))
    throw usageError(`--platform requires OS/ARCHITECTURE[/VARIANT], such as linux/arm64, not ${JSON.stringify(text)}`);
  return parsePlatform(text);
}

function mirrorsOf(values: readonly string[]): Record<string, string[]> {
  return parseMirrors(values, (value) => {
    throw usageError(`--mirror requires ${MIRROR_FORM}, not ${JSON.stringify(value)}`);
  });
}

function readCertificates(file: string): string {
  try {
    return readAuthorities(file);
  } catch (error) {
    throw new InputError(`--registry-ca: cannot read certificates (PEM) from ${file}: ${messageOf(error)}`, {
      cause: error,
    });
  }
}
