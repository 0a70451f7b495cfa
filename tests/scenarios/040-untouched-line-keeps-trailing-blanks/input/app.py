a  
b	
c
