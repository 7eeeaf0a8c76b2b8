import type { RegistryAuth } from "@xfn/runner-contract";

/** Whose credentials are wanted. */
export interface CredentialRequest {
  /** Host, and port where it has one, as image names spell it: `docker.io`, `registry.example:5000`. */
  readonly registry: string;
  /** `library/busybox` */
  readonly repository: string;
  readonly signal: AbortSignal;
}

/**
 * Where credentials come from. Asked when a registry wants some, once for each registry that is talked to (mirrors too), and
 * what it gives is sent to that registry and its token server only. Undefined: there are none, go on without.
 *
 * @throws ImageError InvalidCredentials; the registry is then asked without any, and what was wrong is told if it refuses
 */
export type Credentials = (request: CredentialRequest) => Promise<RegistryAuth | undefined>;

/** Asks one source after the other. */
export function firstCredentials(...sources: readonly Credentials[]): Credentials {
  return async (request) => {
    for (const source of sources) {
      const found = await source(request);
      if (found !== undefined) return found;
    }
    return undefined;
  };
}
