import { connect, type OnReadOpts, type Socket } from "node:net";
import { type ConnectionOptions, connect as connectTls } from "node:tls";
import { type Pems, readPems } from "../setup/certificate-files.ts";
import type { Endpoint } from "../setup/endpoint.ts";
import type { RunnerClientOptions } from "./channel.ts";

/**
 * Opens a connection for a plain call.
 *
 * @param onread where the bytes go
 * @throws RunnerSetupError `CertificateUnusable`
 */
export function connectTo(endpoint: Endpoint, { tls }: RunnerClientOptions, onread: OnReadOpts): Socket {
  switch (endpoint.kind) {
    case "path":
      return connect({ path: endpoint.path, onread });
    case "abstract":
      return connect({ path: `\0${endpoint.socket}`, onread });
    case "tcp": {
      const { host, port } = endpoint;
      if (tls === undefined) return connect({ host, port, noDelay: true, onread });
      const options: ConnectionOptions & { onread: OnReadOpts } = { ...given(readPems(tls)), host, port, onread };
      if (tls.serverName !== undefined) options.servername = tls.serverName;
      return connectTls(options);
    }
  }
}

function given({ ca, cert, key }: Pems): Pick<ConnectionOptions, "ca" | "cert" | "key"> {
  return {
    ...(ca === undefined ? {} : { ca }),
    ...(cert === undefined ? {} : { cert }),
    ...(key === undefined ? {} : { key }),
  };
}
