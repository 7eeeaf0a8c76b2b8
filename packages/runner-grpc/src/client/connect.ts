import { connect, type LookupFunction, type OnReadOpts, type Socket } from "node:net";
import { type ConnectionOptions, connect as connectTls } from "node:tls";
import { type Pems, readPems } from "../setup/certificate-files.ts";
import type { Endpoint } from "../setup/endpoint.ts";
import type { RunnerClientOptions } from "./channel.ts";
import { lookupInTurns } from "./lookup-in-turns.ts";
import type { Connect } from "./plain-connection.ts";

/** Opens connections for plain calls, which throw `CertificateUnusable`. */
export function connectorTo(endpoint: Endpoint, { tls }: RunnerClientOptions): Connect {
  const lookup = lookupInTurns();
  return (onread) => open(endpoint, tls, lookup, onread);
}

function open(endpoint: Endpoint, tls: RunnerClientOptions["tls"], lookup: LookupFunction, onread: OnReadOpts): Socket {
  switch (endpoint.kind) {
    case "path":
      return connect({ path: endpoint.path, onread });
    case "abstract":
      return connect({ path: `\0${endpoint.socket}`, onread });
    case "tcp": {
      const { host, port } = endpoint;
      if (tls === undefined) return connect({ host, port, lookup, noDelay: true, onread });
      const pems = given(readPems(tls));
      const options: ConnectionOptions & { onread: OnReadOpts } = { ...pems, host, port, lookup, onread };
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
