import process from "node:process";
import { createSecureContext } from "node:tls";
import type { experimental } from "@grpc/grpc-js";
import { messageOf } from "@xfn/errors";
import { readBoundedFile } from "./bounded-file.ts";
import { RunnerSetupError } from "./setup-error.ts";

// Twice the size of a bundle of a few hundred CA certificates.
const MAX_PEM_BYTES = 1024 * 1024;

// The longest time until a replaced certificate is in use.
const DEFAULT_REFRESH_MS = 10_000;

/** PEM files. They are read again every few seconds, and new connections use the new content. */
export interface CertificateFiles {
  /** Certificates of the authorities that must have issued the other side's certificate. */
  caFile?: string | undefined;
  /** This side's certificate, followed by intermediate ones. */
  certFile?: string | undefined;
  /** This side's private key. */
  keyFile?: string | undefined;
}

type CaListener = experimental.CaCertificateUpdateListener;
type IdentityListener = experimental.IdentityCertificateUpdateListener;

/**
 * Gives grpc-js the content of {@link CertificateFiles}, now and after each change. While the files do not match, such
 * as a new certificate with the old key, the last good set stays in use. Each such problem is reported once: the set in
 * use may expire, or come from an authority that must no longer be trusted.
 *
 * @throws RunnerSetupError `CertificateUnusable` if the files are not usable at the start
 */
export class CertificateWatcher implements experimental.CertificateProvider {
  readonly #files: CertificateFiles;
  readonly #refreshMs: number;
  readonly #onProblem: ((message: string) => void) | undefined;
  readonly #caListeners = new Set<CaListener>();
  readonly #identityListeners = new Set<IdentityListener>();
  #pems: Pems;
  #problem: string | undefined;
  #timer: NodeJS.Timeout | undefined;

  constructor(files: CertificateFiles, refreshMs: number = DEFAULT_REFRESH_MS, onProblem?: (message: string) => void) {
    if ((files.certFile === undefined) !== (files.keyFile === undefined)) {
      throw new RunnerSetupError("CertificateUnusable", "certFile and keyFile belong together: set both, or neither");
    }
    this.#files = files;
    this.#refreshMs = refreshMs;
    this.#onProblem = onProblem;
    this.#pems = readPems(files);
  }

  /** Reads the files again. */
  refresh(): void {
    let pems: Pems;
    try {
      pems = readPems(this.#files);
    } catch (error) {
      this.#reportProblem(messageOf(error));
      return;
    }
    this.#problem = undefined;
    if (samePems(pems, this.#pems)) return;
    this.#pems = pems;
    for (const listener of this.#identityListeners) this.#sendIdentity(listener);
    for (const listener of this.#caListeners) this.#sendCa(listener);
  }

  // grpc-js drops updates while it adds a listener, so the first update comes a tick later.
  addCaCertificateListener(listener: CaListener): void {
    this.#caListeners.add(listener);
    process.nextTick(() => this.#sendCa(listener));
    this.#watch();
  }

  removeCaCertificateListener(listener: CaListener): void {
    this.#caListeners.delete(listener);
    this.#watch();
  }

  addIdentityCertificateListener(listener: IdentityListener): void {
    this.#identityListeners.add(listener);
    process.nextTick(() => this.#sendIdentity(listener));
    this.#watch();
  }

  removeIdentityCertificateListener(listener: IdentityListener): void {
    this.#identityListeners.delete(listener);
    this.#watch();
  }

  #sendCa(listener: CaListener): void {
    listener(this.#pems.ca === undefined ? null : { caCertificate: this.#pems.ca });
  }

  #sendIdentity(listener: IdentityListener): void {
    const { cert, key } = this.#pems;
    listener(cert === undefined || key === undefined ? null : { certificate: cert, privateKey: key });
  }

  #reportProblem(why: string): void {
    if (why === this.#problem) return;
    this.#problem = why;
    this.#onProblem?.(`${why}; their previous content stays in use until they match again`);
  }

  #watch(): void {
    const wanted = this.#caListeners.size + this.#identityListeners.size > 0;
    if (wanted && this.#timer === undefined) {
      this.#timer = setInterval(() => this.refresh(), this.#refreshMs);
      this.#timer.unref();
    } else if (!wanted) {
      clearInterval(this.#timer);
      this.#timer = undefined;
    }
  }
}

/** The content of certificate files. */
export interface Pems {
  readonly ca: Buffer | undefined;
  readonly cert: Buffer | undefined;
  readonly key: Buffer | undefined;
}

/** Reads certificate files and checks that they match. @throws RunnerSetupError `CertificateUnusable` */
export function readPems({ caFile, certFile, keyFile }: CertificateFiles): Pems {
  try {
    const [ca, cert, key] = [caFile, certFile, keyFile].map((file) =>
      file === undefined ? undefined : readBoundedFile(file, MAX_PEM_BYTES),
    );
    // Throws if the key does not match the certificate, or a file is not PEM.
    createSecureContext({ ca, cert, key });
    if (ca !== undefined && !ca.includes("-----BEGIN")) throw new Error(`${caFile} has no certificate`);
    return { ca, cert, key };
  } catch (cause) {
    const names = [caFile, certFile, keyFile].filter((file) => file !== undefined).join(", ");
    const why = messageOf(cause);
    throw new RunnerSetupError("CertificateUnusable", `the files ${names} are not usable together: ${why}`, { cause });
  }
}

function samePems(a: Pems, b: Pems): boolean {
  return (["ca", "cert", "key"] as const).every((name) => {
    const [one, other] = [a[name], b[name]];
    return one === undefined || other === undefined ? one === other : one.equals(other);
  });
}
