import { readFile } from "node:fs/promises";
import { isPackageReference } from "@xfn/composition";
import {
  type FunctionCaller,
  FunctionClient,
  type FunctionTarget,
  parseTarget,
  type TargetCertificates,
  type UnaryCaller,
} from "@xfn/function-grpc";
import type { RegistryAuth } from "@xfn/pipeline";
import type { DeployedFunction, FunctionDirectory, PackageUse } from "../objects/context.ts";
import { type CertificateAdvice, DialledFunction } from "./dialled-function.ts";

/** A Function that the operator configures: `NAME=ENDPOINT` or `NAME=PACKAGE`. */
export interface NamedFunction {
  readonly name: string;
  /** An endpoint or a package. */
  readonly source: string;
}

/** Files in PEM format for functions with an `https://` endpoint. They are read for each connection. */
export interface FunctionCertificateFiles {
  /** Default: Node's certificate authorities. */
  readonly ca: string | undefined;
  readonly cert: string | undefined;
  readonly key: string | undefined;
}

/** Calls methods of function packages: a client of a runner. */
export interface PackageHost {
  callFunction(
    image: string,
    path: string,
    message: Uint8Array,
    options: {
      readonly timeoutMs: number;
      readonly step: string;
      readonly auth?: RegistryAuth;
      readonly signal?: AbortSignal;
    },
  ): Promise<Uint8Array>;
}

/**
 * The endpoint that a source names; undefined if the source is a package.
 *
 * @throws {TypeError} if it is neither
 */
export function endpointOf(source: string): FunctionTarget | undefined {
  // A package has a slash. Sockets, and addresses with a scheme, are endpoints.
  const isPackage = !/^(unix|dns|https?):/.test(source) && (source.includes("/") || source.startsWith("oci:"));
  if (isPackage && isPackageReference(source)) return undefined;
  const target = isPackage ? undefined : parseTarget(source);
  if (target !== undefined) return target;
  throw new TypeError(
    `${JSON.stringify(source)} is neither an endpoint (HOST:PORT, dns:///HOST:PORT, https://HOST:PORT, unix:/PATH; a port is 1 to 65535) nor ` +
      "a package with its registry and version (registry.example.org/functions/a:v1, oci:DIR)",
  );
}

/** The connection to a function that runs in a Deployment. */
interface DeployedCaller {
  readonly runtime: string;
  readonly endpoint: string;
  readonly dialled: DialledFunction;
  readonly client: FunctionClient;
}

const SECRETS_ADVICE: CertificateAdvice = {
  server: "check that the function serves the certificate of its Secret, in TLS_SERVER_CERTS_DIR",
  client: "restart its pods, which read their Secret when they start",
};

/** The functions that the process can call. */
export class ConnectedFunctions implements FunctionDirectory {
  readonly #host: PackageHost;
  readonly #named: ReadonlyMap<string, (use: PackageUse) => FunctionCaller>;
  readonly #dialled: DialledFunction[] = [];
  /** Keyed by package. */
  readonly #deployed: Map<string, DeployedCaller> = new Map();

  constructor(host: PackageHost, functions: readonly NamedFunction[], files: FunctionCertificateFiles) {
    this.#host = host;
    this.#named = new Map(functions.map(({ name, source }) => [name, this.#callerOf(source, files)]));
  }

  get names(): readonly string[] {
    return [...this.#named.keys()];
  }

  byName(name: string, use: PackageUse): FunctionCaller | undefined {
    return this.#named.get(name)?.(use);
  }

  byPackage(reference: string, { step, auth: authOf }: PackageUse): FunctionCaller {
    const call: UnaryCaller["call"] = async (path, message, { timeoutMs, signal }) => {
      const auth = await authOf(reference);
      const options = { timeoutMs, step, ...(auth && { auth }), ...(signal && { signal }) };
      return await this.#host.callFunction(reference, path, message, options);
    };
    return new FunctionClient({ call }, reference);
  }

  byEndpoint(reference: string, { runtime, endpoint, certificates }: DeployedFunction): FunctionCaller {
    const known = this.#deployed.get(reference);
    if (known?.endpoint === endpoint) return known.client;
    known?.dialled.retire();
    const target = parseTarget(endpoint);
    if (target === undefined) throw new TypeError(`${JSON.stringify(endpoint)} is not an endpoint of a function`);
    const dialled = new DialledFunction({ ...target, isSecure: true }, certificates, SECRETS_ADVICE);
    const client = new FunctionClient(dialled, reference);
    this.#deployed.set(reference, { runtime, endpoint, dialled, client });
    return client;
  }

  closeUnused(exists: (runtime: string) => boolean): void {
    for (const [reference, { runtime, dialled }] of this.#deployed) {
      if (exists(runtime)) continue;
      this.#deployed.delete(reference);
      dialled.retire();
    }
  }

  close(): void {
    for (const { dialled } of this.#deployed.values()) dialled.close();
    for (const one of this.#dialled) one.close();
  }

  #callerOf(source: string, files: FunctionCertificateFiles): (use: PackageUse) => FunctionCaller {
    const target = endpointOf(source);
    if (target === undefined) return (use) => this.byPackage(source, use);
    const dialled = new DialledFunction(target, () => readCertificates(files));
    this.#dialled.push(dialled);
    const client = new FunctionClient(dialled);
    return () => client;
  }
}

async function readCertificates({ ca, cert, key }: FunctionCertificateFiles): Promise<TargetCertificates> {
  const [authorities, certificate, privateKey] = await Promise.all(
    [ca, cert, key].map(async (path) => (path === undefined ? undefined : await readFile(path))),
  );
  return {
    ...(authorities && { ca: authorities }),
    ...(certificate && { cert: certificate }),
    ...(privateKey && { key: privateKey }),
  };
}
