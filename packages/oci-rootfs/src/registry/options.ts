import type { RegistryAuth } from "@xfn/runner-contract";
import type { RetryOptions } from "../base/retry.ts";
import type { Credentials } from "./credentials.ts";

/** How registries are talked to. */
export interface RegistryOptions {
  /**
   * For this image's registry; comes before `credentials`. Never sent to another host, but its token server: see
   * `trustedRealms`.
   */
  readonly auth?: RegistryAuth | undefined;
  /** Where credentials come from otherwise, for mirrors too: `dockerCredentials()`, `pullSecretCredentials()`, or your own. */
  readonly credentials?: Credentials | undefined;
  /** Registries (`host` or `host:port`) that are spoken to by http instead of https. */
  readonly insecureRegistries?: readonly string[] | undefined;
  /** Hosts (with port) of token servers that may be given credentials of a registry although they are not its own. */
  readonly trustedRealms?: readonly string[] | undefined;
  /**
   * By registry, what is asked before it when pulling, in this order: `{ "docker.io": ["mirror.example:5000/hub"] }`. A
   * mirror is a host, with the path that goes before repositories there, if any. Its tags are believed. Not used for pushing.
   */
  readonly mirrors?: Readonly<Record<string, readonly string[]>> | undefined;
  /** Certificates (PEM) of authorities that are trusted besides the system's. */
  readonly certificateAuthorities?: readonly string[] | undefined;
  /** A transfer slower than 1 KiB/s over this time is given up. Default 30,000 ms. */
  readonly stallTimeoutMs?: number | undefined;
  /** How often what can succeed later is tried again. */
  readonly retry?: RetryOptions | undefined;
}
