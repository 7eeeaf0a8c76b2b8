import { execFileSync } from "node:child_process";
import type { Workspace } from "./workspace.ts";

/** Files in PEM. */
export interface Certificates {
  /** The certificate authority. */
  readonly ca: string;
  readonly cert: string;
  readonly key: string;
}

/** Makes a CA, and a certificate of it for 127.0.0.1 and localhost, for both ends. Needs `needs("openssl")`. */
export async function makeCertificates(workspace: Workspace): Promise<Certificates> {
  const path = (name: string): string => workspace.path(`tls-${name}`);
  const openssl = (...args: string[]): void => void execFileSync("openssl", args, { stdio: "ignore" });
  const key = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "2"];
  openssl("req", "-x509", ...key, "-subj", "/CN=test ca", "-keyout", path("ca.key"), "-out", path("ca.crt"));
  openssl("req", ...key.slice(0, -2), "-subj", "/CN=test", "-keyout", path("key"), "-out", path("csr"));
  const extensions = await workspace.write("tls-ext", "subjectAltName=IP:127.0.0.1,DNS:localhost\n");
  const ca = ["-CA", path("ca.crt"), "-CAkey", path("ca.key"), "-CAcreateserial", "-days", "2"];
  openssl("x509", "-req", "-in", path("csr"), ...ca, "-extfile", extensions, "-out", path("crt"));
  // The tests' user writes the key, and the workspace's user reads it.
  execFileSync("chmod", ["a+r", path("key")]);
  return { ca: path("ca.crt"), cert: path("crt"), key: path("key") };
}
