import { createHash } from "node:crypto";
import type { Socket } from "node:net";
import { TLSSocket } from "node:tls";

/**
 * Identifies the caller whose calls share turns in the queue: by its token, its certificate, or its address. More
 * connections do not give a caller more turns. All callers of a local socket without tokens count as one, because they
 * have no address.
 */
export function identifyCaller(socket: Socket | undefined, token: string | undefined): string {
  if (token !== undefined) return `token ${createHash("sha256").update(token).digest("base64")}`;
  const certificate = socket instanceof TLSSocket ? socket.getPeerX509Certificate() : undefined;
  if (certificate !== undefined) return `certificate ${certificate.fingerprint256}`;
  return `address ${socket?.remoteAddress ?? ""}`;
}
