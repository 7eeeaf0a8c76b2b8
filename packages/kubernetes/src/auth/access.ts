/** Headers of requests. A header with several values is sent once for each. */
export type RequestHeaders = Readonly<Record<string, string | readonly string[]>>;

/** The address of an API server and the client's credentials. See `loadKubeconfig`. */
export interface ClusterAccess {
  /** `https://host:port`, with a path if a gateway serves several clusters. */
  readonly server: string;
  /** Called for each connection, because certificates may change. */
  tls(): Promise<TlsOptions>;
  /** Headers with the credentials, called for each request. Returns a promise only if it must fetch something. */
  headers(): RequestHeaders | Promise<RequestHeaders>;
  /** Fetches new credentials after the server rejected the current ones. Returns false if there are no others. */
  refresh(): Promise<boolean>;
  /** An HTTP proxy for all connections: `http://host:port`. */
  readonly proxy?: string | undefined;
  /** The namespace of the kubeconfig's context or of the service account. */
  readonly namespace?: string | undefined;
}

/** Options of `node:tls`. Certificates and keys are PEM texts. */
export interface TlsOptions {
  readonly ca?: string | undefined;
  readonly cert?: string | undefined;
  readonly key?: string | undefined;
  /** The expected name in the server's certificate, if it differs from the URL's. */
  readonly serverName?: string | undefined;
  /** Accepts any certificate of the server. */
  readonly insecureSkipVerify?: boolean | undefined;
}
