"""What several tests share: random inputs, brute-force laws, hosts, and where things lie."""
