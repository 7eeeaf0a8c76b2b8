import { parseReference, parseRegistry } from "@xfn/oci-rootfs/image-name";
import { ExitCode } from "@xfn/program/exit-code";
import { usageError } from "../errors/cli-error.ts";
import { type RegistryFlags, registryOptions } from "../flags/registry-flags.ts";
import { explainRegistryError } from "../store/explain-image-error.ts";
import { interruptible } from "../terminal/interrupt.ts";
import type { Output } from "../terminal/output.ts";
import { readPassword } from "../terminal/read-password.ts";

/** Flags of `xfn login`, as commander parsed them. */
export interface LoginFlags extends Omit<RegistryFlags, "mirror"> {
  readonly username: string;
  readonly passwordStdin?: boolean | undefined;
}

interface Scope {
  readonly registry: string;
  readonly path?: string;
}

/** `xfn login`: stores credentials that the registry accepts. */
export async function runLogin(text: string, flags: LoginFlags, output: Output): Promise<number> {
  const scope = parseScope(text);
  const { username } = flags;
  if (username === "" || username.includes(":"))
    throw usageError("--username must be a name without a colon, which separates it from the password");
  const registries = registryOptions(flags);
  const password = await readPassword(flags.passwordStdin === true, `password of ${username} for ${text}: `);
  return interruptible(async (signal) => {
    const { checkCredentials, storeCredentials } = await import("@xfn/oci-rootfs/registry");
    const login = { username, password };
    try {
      await checkCredentials(scope.registry, login, { ...registries, credentials: undefined, signal });
      const where = await storeCredentials(scope, login, { signal });
      output.note(`stored the credentials for ${text} in ${where}`);
      return ExitCode.ok;
    } catch (error) {
      throw explainRegistryError(error, scope.registry);
    }
  });
}

/** `xfn logout`: removes credentials. */
export async function runLogout(text: string, output: Output): Promise<number> {
  const scope = parseScope(text);
  return interruptible(async (signal) => {
    const { removeCredentials } = await import("@xfn/oci-rootfs/registry");
    const changed = await removeCredentials(scope, { signal });
    output.note(
      changed.length === 0
        ? `there are no credentials for ${text}`
        : `removed the credentials for ${text} from ${changed.join(", ")}`,
    );
    return ExitCode.ok;
  });
}

/** @throws CliError `Usage` */
function parseScope(text: string): Scope {
  const slash = text.indexOf("/");
  try {
    if (slash < 0) return { registry: parseRegistry(text) };
    const { registry, repository, isTagImplied } = parseReference(text);
    if (isTagImplied && registry === parseRegistry(text.slice(0, slash))) return { registry, path: repository };
  } catch {
    // Explained below.
  }
  throw usageError(
    `${JSON.stringify(text)} is not a registry: write HOST[:PORT] or HOST[:PORT]/PATH, without https://`,
  );
}
