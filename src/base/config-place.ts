/** The place of a configuration. */
export interface ConfigPlace {
  /** Directory of agtp-server.toml; every relative path was resolved against it. */
  readonly directory: string;
  /** The configuration file, absolute. */
  readonly file: string;
}
