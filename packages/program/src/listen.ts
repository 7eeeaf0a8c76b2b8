import type { Server } from "node:http";
import type { AddressInfo } from "node:net";
import type { ListenAddress } from "./listen-address.ts";

/** A server that listens. */
export interface Listening {
  readonly port: number;
  /** Ends all connections. */
  close(): Promise<void>;
}

/**
 * Lets a server listen.
 *
 * @param title of what it serves, for errors
 * @param flag with which users set the address
 * @throws {Error} if the address cannot be used
 */
export async function listen(
  server: Pick<Server, "once" | "listen" | "address" | "close" | "closeAllConnections">,
  { host, port }: ListenAddress,
  { title, flag }: { readonly title: string; readonly flag: string },
): Promise<Listening> {
  await new Promise<void>((resolve, reject) => {
    server.once("error", (cause) =>
      reject(new Error(`${title} cannot be served on ${host}:${port} (${flag}): ${cause.message}`, { cause })),
    );
    server.listen(port, host, resolve);
  });
  return {
    port: (server.address() as AddressInfo).port,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}
