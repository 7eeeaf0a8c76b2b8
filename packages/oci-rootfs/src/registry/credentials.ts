import type { RegistryAuth } from "@xfn/runner-contract";

/** The repository that credentials are for. */
export interface CredentialRequest {
  /** Host and optional port, as image names spell it: `docker.io`, `registry.example:5000`. */
  readonly registry: string;
  /** `library/busybox` */
  readonly repository: string;
  readonly signal: AbortSignal;
}

/**
 * A source of credentials. It is called once for each registry or mirror that requires authentication. The result is
 * sent only to that registry and its token server. Undefined means anonymous access.
 *
 * @throws ImageError InvalidCredentials; access is then anonymous, and the message is part of the error if that fails
 */
export type Credentials = (request: CredentialRequest) => Promise<RegistryAuth | undefined>;
