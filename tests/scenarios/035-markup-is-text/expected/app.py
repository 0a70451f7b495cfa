[bold][/red][link=y][/bold]
