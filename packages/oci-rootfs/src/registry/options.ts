import type { Environment } from "@xfn/proxy";
import type { RegistryAuth } from "@xfn/runner-contract";
import type { RetryOptions } from "../base/retry.ts";
import type { Credentials } from "./credentials.ts";

/** Options for access to registries. */
export interface RegistryOptions {
  /**
   * Credentials for this image's registry; they take precedence over `credentials`. They are sent only to the
   * registry and its token server: see `trustedRealms`.
   */
  readonly auth?: RegistryAuth | undefined;
  /** Other credentials, also for mirrors: `dockerCredentials()`, or your own function. */
  readonly credentials?: Credentials | undefined;
  /** Registries (`host` or `host:port`) that are accessed by http instead of https. */
  readonly insecureRegistries?: readonly string[] | undefined;
  /**
   * Whether a registry on this machine may use http without being listed there. Default true. A server that pulls what
   * others name sets it to false, so that they cannot send requests to its machine's http services.
   */
  readonly httpOnLoopback?: boolean | undefined;
  /** Token servers (hosts with port) that may get a registry's credentials although their host differs from it. */
  readonly trustedRealms?: readonly string[] | undefined;
  /**
   * Mirrors to pull from before the registry, in order: `{ "docker.io": ["mirror.example:5000/hub"] }`. A mirror is a
   * host with an optional path before its repositories. Its tags are trusted. Pushes ignore mirrors.
   */
  readonly mirrors?: Readonly<Record<string, readonly string[]>> | undefined;
  /** Certificates (PEM) of authorities that are trusted in addition to the system's. */
  readonly certificateAuthorities?: readonly string[] | undefined;
  /** Has `HTTPS_PROXY` and `NO_PROXY`, which apply to registries with https. Default `process.env`. */
  readonly env?: Environment | undefined;
  /** A transfer that is slower than 1 KiB/s over this time fails. Default 30,000 ms. */
  readonly stallTimeoutMs?: number | undefined;
  /** For failures that may be temporary. */
  readonly retry?: RetryOptions | undefined;
}
